// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The subgroup size of shaders that cannot see it.
///
/// Wide subgroups share more: a uniform value is computed and loaded for more lanes, and a
/// workgroup has fewer subgroups to switch between at a barrier. But each value takes more
/// registers.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/lowered_shader.h"

namespace weft::cpu {

constexpr uint32_t wide_subgroup_size = 64;

/// Whether it is worth lowering a shader for wide subgroups, and calling prefers_wide_subgroups().
/// The CPU must have the registers. The module must be small, and must use neither capabilities of
/// subgroups nor sampled images.
bool may_prefer_wide_subgroups(const ShaderSource &, const CpuFeatures &);

/// Whether a shader that was lowered for wide subgroups fills them and keeps its values in
/// registers.
bool prefers_wide_subgroups(LoweredShader &);

} // namespace weft::cpu
