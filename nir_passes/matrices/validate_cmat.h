// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrix_support.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Checks the shader's matrices against the supported operations, before any lowering. Every matrix
/// type must be an operand of an operation, and every muladd an operation, with its signedness and
/// saturation. The Error names the shader's type or operation and the supported alternatives.
Result<bool> validate_cmat(nir_shader *, const MatrixSupport &);

} // namespace weft
