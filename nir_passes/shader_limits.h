// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a shader may ask for.  A device advertises these or less; beyond them compiling would take
/// memory or time without bound.

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

constexpr uint32_t max_workgroup_invocations = 2048;
constexpr uint32_t max_push_constant_bytes = 256;
constexpr uint32_t max_shared_bytes = 256 * 1024;
/// Private memory of one invocation that does not become values.
constexpr uint32_t max_scratch_bytes = 64 * 1024;
/// Components of a variable outside buffers.
constexpr uint64_t max_variable_components = 128 * 1024;
/// Instructions after inlining.
constexpr uint64_t max_instructions = 1 << 20;

/// Of what the front end delivers: functions not inlined yet.  Function calls must not recur.
Result<bool> check_module_limits(nir_shader *);

/// Of the final shader: the sizes that its back end must provide.
Result<bool> check_shader_limits(nir_shader *);

} // namespace weft
