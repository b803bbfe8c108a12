// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Where a matrix in a storage buffer lies within it (for the lowerings of matrices).
///
/// cooperativeMatrixRobustBufferAccess (Vulkan, "Robust Buffer Access") asks that an element
/// outside of the descriptor's range reads as zero and is not written.  Offset and stride are the
/// program's, so what they come to may be more than 32 bits hold: here it saturates, and UINT32_MAX
/// lies outside of every buffer.  An access whose offset is inside has lost nothing in 32 bits.
/// (Only a 32-bit index from a pointer that is itself a value wraps: of it nothing else is known.)
///
/// The CPU's tiles get their address from nir_lower_explicit_io, modulo 2^32, as every access there
/// that is no matrix's: their kernels saturate from there on.  Both are robustBufferAccess; what
/// differs is which element of the buffer, or none, an index of 2^32 or more means.

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft::cmat {

/// Numbers of bytes.
struct Bounds {
   nir_def *base;    ///< from the beginning of the buffer to the matrix
   nir_def *end;     ///< elements begin before it
   nir_def *stride;  ///< from one line (row or column) to the next
   uint32_t element; ///< of one element
};

/// The pointer is a deref of a storage buffer; buffers have (index, index, offset) as addresses.
/// The stride counts elements of the type that it points to.
Bounds bounds(nir_builder *, nir_deref_instr *pointer, nir_def *stride, uint32_t element_bytes);

/// Of an element, from the beginning of the buffer.
nir_def *offset(nir_builder *, const Bounds &, nir_def *line, nir_def *place_in_line);

/// Whether an element lies in the buffer: a 1-bit value.
nir_def *is_inside(nir_builder *, const Bounds &, nir_def *line, nir_def *place_in_line);

} // namespace weft::cmat
