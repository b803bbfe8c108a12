// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrix_support.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Asks first whether the shader uses of matrices only what it may: every matrix type must be an
/// operand of one of the operations, and every muladd one of them, with its signedness and
/// saturation.  The Error names what the shader asks for and what there is instead.
Result<bool> validate_cmat(nir_shader *, const MatrixSupport &);

} // namespace weft
