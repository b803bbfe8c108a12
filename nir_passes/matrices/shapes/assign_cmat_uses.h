// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Gives matrices without a use (SPV_NV_cooperative_matrix) the use that they have in muladds, so
/// that muladds need not convert them:
///
///    cmat_load         x, …                becomes
///    cmat_convert_weft a, x (as A)    ─►      cmat_load   x (an A), …
///    cmat_muladd       d, a, b, c             cmat_copy   a, x
///                                             cmat_muladd d, a, b, c
///
/// Matrices that take each other's values component by component get the same use. A matrix with
/// several uses gets the most frequent one, and is converted for the others. A matrix that no
/// muladd reads or writes keeps no use. In registers and in a driver's tiles, the number of
/// components depends on the use. So a matrix whose components the shader counts keeps no use
/// there.
///
/// Assumes one function, before lower_cmat().
bool assign_cmat_uses(nir_shader *, MatrixForm);

} // namespace weft
