// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Removes the shader's unroll hints, which NIR obeys whatever the size; only the limits of
/// nir_shader_compiler_options remain. Disables the unrolling of loops around tile operations: an
/// iteration is long, and a dynamic index into an array of tiles costs nothing. (For the CPU,
/// unroll_products() makes exceptions.)
bool limit_unrolling(nir_shader *);

} // namespace weft
