// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <algorithm>
#include <cstdint>

namespace weft::cpu {

/// The number of neighbouring workgroups along x that the shader's kernel runs together
/// (join_workgroups.h); 1: they are not joined. load_workgroup_id is the first one's.
inline uint32_t workgroups_per_kernel(const nir_shader *shader)
{
   return std::max<uint32_t>(shader->info.cs.workgroup_size_hint[0], 1);
}

/// NIR keeps the number with the shader, in a member that only OpenCL uses.
inline void set_workgroups_per_kernel(nir_shader *shader, uint32_t count)
{
   shader->info.cs.workgroup_size_hint[0] = uint16_t(count);
}

} // namespace weft::cpu
