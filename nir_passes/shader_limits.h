// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Refuses shaders beyond the limits of compile_limits.h.

#pragma once

#include "nir_passes/compile_limits.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Checks the front end's result, before functions are inlined. Recursion is an Error.
Result<bool> check_module_limits(nir_shader *);

/// Checks the final shader's memory sizes, which its back end must provide.
Result<bool> check_shader_limits(nir_shader *);

} // namespace weft
