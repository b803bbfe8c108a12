// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Lowers what is done with matrices, which have the shapes that the back end wants
/// (split_cmat_shapes.h), to one of the forms in which a back end takes them:
///
/// | form          | a matrix                              | load, store, muladd         | the rest      |
/// |---------------|---------------------------------------|-----------------------------|---------------|
/// | registers     | array of components, register_map.h   | accesses, multiply-adds     | by component  |
/// | private_tiles | array of components, element_map.h    | tile_*_weft on the arrays   | by component  |
/// | driver_tiles  | stays a matrix                        | tile_*_weft on the matrices | stays         |
///
/// tile_*_weft means the same in both: nir_intrinsics.py describes it.  Its strides count bytes
/// here (STRIDE_UNIT is 1).
///
/// Assumes one function, as after spirv_to_nir(), and types that validate_cmat() let through.  The
/// memory that matrices are loaded from is still named by derefs, whose type gives the unit of the
/// stride: this runs before nir_lower_explicit_io.
bool lower_cmat(nir_shader *, const Target &, MatrixForm);

} // namespace weft
