// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Refuses shaders that ask for more than compile_limits.h has.

#pragma once

#include "nir_passes/compile_limits.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// Of what the front end delivers: functions not inlined yet.  Function calls must not recur.
Result<bool> check_module_limits(nir_shader *);

/// Of the final shader: the sizes that its back end must provide.
Result<bool> check_shader_limits(nir_shader *);

} // namespace weft
