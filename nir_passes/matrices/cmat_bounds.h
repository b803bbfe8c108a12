// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Bounds of matrices in storage buffers, for the lowerings of matrices.
///
/// cooperativeMatrixRobustBufferAccess (Vulkan, "Robust Buffer Access") requires that an element
/// outside of the descriptor's range reads as zero and is not written. The program chooses offset
/// and stride, so an element's offset may exceed 32 bits. Here offsets saturate, and UINT32_MAX
/// lies outside of every buffer. Offsets inside of a buffer are exact in 32 bits. (Only a 32-bit
/// index from a pointer that is itself a value wraps: nothing else is known about that pointer.)
///
/// The CPU's tiles get their address from nir_lower_explicit_io, modulo 2^32, like every other
/// access there: their kernels saturate from there on. Both conform to robustBufferAccess; they may
/// access different elements of the buffer, or none, for an index of 2^32 or more.

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft::cmat {

/// Numbers of bytes.
struct Bounds {
   nir_def *base;    ///< from the beginning of the buffer to the matrix
   nir_def *end;     ///< elements must begin before it
   nir_def *stride;  ///< from one line (row or column) to the next
   uint32_t element; ///< of one element
};

/// The pointer is a deref of a storage buffer; addresses of buffers are (index, index, offset). The
/// stride counts elements of the type that the pointer points to.
Bounds bounds(nir_builder *, nir_deref_instr *pointer, nir_def *stride, uint32_t element_bytes);

/// An element's byte offset from the beginning of the buffer.
nir_def *offset(nir_builder *, const Bounds &, nir_def *line, nir_def *place_in_line);

/// Whether an element lies in the buffer: a 1-bit value.
nir_def *is_inside(nir_builder *, const Bounds &, nir_def *line, nir_def *place_in_line);

} // namespace weft::cmat
