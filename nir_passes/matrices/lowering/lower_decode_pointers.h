// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Decode functions of tensor loads (SPV_NV_cooperative_matrix2) take a physical pointer to a block,
/// also where the block lies in a storage buffer that is known by its descriptor only.  The front end
/// packs that pointer into 64 bits (cmat_marks.h); inlined, what the function reads through it becomes
/// reads of the storage buffer again, with its bounds.
///
/// Runs once functions are inlined and variables are SSA values.  An error where the function does
/// something else with the pointer than to read or write through it.
Result<bool> lower_decode_pointers(nir_shader *);

} // namespace weft
