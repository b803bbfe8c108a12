// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Takes away the word of the shader's author that a loop be unrolled, which NIR obeys whatever the
/// size: only nir_shader_compiler_options' limits remain.  Loops around tile operations are not
/// unrolled: an iteration is long, and a dynamic index into an array of tiles costs nothing.  (For the CPU unroll_products()
/// makes exceptions.)
bool limit_unrolling(nir_shader *);

} // namespace weft
