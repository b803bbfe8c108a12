// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Lowers operations on matrices, which have shapes of the back end (split_cmat_shapes.h), to one
/// of the forms of matrices that back ends take:
///
/// | form          | a matrix                            | load, store, muladd     | the rest     |
/// |---------------|-------------------------------------|-------------------------|--------------|
/// | registers     | array of components, register_map.h | accesses, multiply-adds | by component |
/// | private_tiles | array of components, element_map.h  | tile_*_weft on arrays   | by component |
/// | driver_tiles  | stays a matrix                      | tile_*_weft on matrices | stays        |
///
/// tile_*_weft means the same in both forms: nir_intrinsics.py describes it. Its strides count
/// bytes (STRIDE_UNIT is 1).
///
/// Assumes one function, and types that validate_cmat() accepts. Runs before nir_lower_explicit_io:
/// memory is named by derefs, whose type gives the unit of the stride.
bool lower_cmat(nir_shader *, const Target &, MatrixForm);

} // namespace weft
