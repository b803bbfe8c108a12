// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles a GLSL compute shader with the whole back end and runs it, without Vulkan: storage buffer i is binding i of
/// set 0.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/executor.h"
#include "tests/e2e/glsl.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::cpu {

inline Result<std::shared_ptr<const Program>> compile_shader(const std::string &glsl,
                                                             uint32_t subgroup_size,
                                                             uint32_t buffers)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
   ShaderSource source;
   source.spirv = spirv;
   source.entry_point = "main";
   CompileOptions options;
   options.subgroup_size = subgroup_size;
   for (uint32_t i = 0; i < buffers; i++)
      options.bindings.push_back({0, i, 0, uint32_t(i * sizeof(BufferDescriptor)), 0, 1, false});
   return compile(source, options);
}

inline bool run_shader(Executor &executor, const Program &program,
                       const std::vector<std::span<std::byte>> &buffers,
                       std::array<uint32_t, 3> groups)
{
   std::vector<BufferDescriptor> set;
   for (std::span<std::byte> buffer : buffers)
      set.push_back({reinterpret_cast<uint64_t>(buffer.data()), buffer.size()});
   DispatchState state = {};
   state.sets[0] = reinterpret_cast<const uint8_t *>(set.data());
   for (int axis = 0; axis < 3; axis++)
      state.num_workgroups[axis] = groups[axis];
   return executor.dispatch(program, state, groups);
}

} // namespace weft::cpu
