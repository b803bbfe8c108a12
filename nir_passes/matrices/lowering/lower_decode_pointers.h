// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Decode functions of tensor loads (SPV_NV_cooperative_matrix2) take a physical pointer to a
/// block. If the block lies in a storage buffer, only its descriptor is known, and
/// lower_cmat_tensor_access() packs the buffer's pointer into 64 bits (cmat_marks.h). Accesses
/// through the packed pointer become accesses to the buffer again, with its bounds.
///
/// Runs once functions are inlined and variables are SSA values. Returns an Error if the function
/// uses the pointer for more than accesses.
Result<bool> lower_decode_pointers(nir_shader *);

} // namespace weft
