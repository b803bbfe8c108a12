// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/target.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Gives matrices without a use (SPV_NV_cooperative_matrix) the one that their multiplications ask
/// for, so that they need not be converted there:
///
///    cmat_load         x, …                becomes
///    cmat_convert_weft a, x (as A)    ─►      cmat_load   x (an A), …
///    cmat_muladd       d, a, b, c             cmat_copy   a, x
///                                             cmat_muladd d, a, b, c
///
/// Matrices that take each other's values component by component get the same use.  One that is
/// asked for as several becomes what it is asked for most often, and is converted for the rest.  One
/// that no multiplication sees keeps none.  So does one whose components the shader counts, but with
/// private tiles, as how many there are depends on the use elsewhere.
///
/// Assumes one function, before lower_cmat().
bool assign_cmat_uses(nir_shader *, MatrixForm);

} // namespace weft
