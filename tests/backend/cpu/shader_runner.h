// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles a GLSL compute shader with the whole back end and runs it, without Vulkan: storage
/// buffer i is binding i of set 0.

#pragma once

#include "tests/e2e/glsl.h"
#include "tools/runner/runner.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace weft::cpu {

inline Result<std::shared_ptr<const Program>>
compile_shader(const std::string &glsl, uint32_t subgroup_size, uint32_t buffers)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
   std::vector<runner::BufferPlace> places;
   for (uint32_t i = 0; i < buffers; i++)
      places.push_back({0, i});
   return runner::compile({spirv, "main", {}}, places, {.subgroup_size = subgroup_size});
}

/// The layout of buffers at bindings 0 … count - 1 of set 0.
inline std::vector<BindingLayout> buffer_bindings(uint32_t count)
{
   std::vector<BindingLayout> bindings;
   constexpr uint32_t stride = sizeof(BufferDescriptor);
   for (uint32_t i = 0; i < count; i++)
      bindings.push_back({.set = 0,
                          .binding = i,
                          .slot = 0,
                          .offset = i * stride,
                          .stride = stride,
                          .count = 1,
                          .inline_data = false});
   return bindings;
}

/// The compiler's dump of a shader at a phase ("nir", "llvm", …). It is empty, and the test fails,
/// if the shader does not compile.
inline std::string dump_of_shader(const std::string &glsl, uint32_t buffers,
                                  const std::string &wanted, CompileOptions options)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
   ShaderSource source;
   source.spirv = spirv;
   source.entry_point = "main";
   options.bindings = buffer_bindings(buffers);
   std::string dumped;
   options.dump = [&](const char *phase, const std::string &text) {
      if (phase == wanted)
         dumped = text;
   };
   const auto program = compile(source, options);
   EXPECT_TRUE(program) << program.error().message;
   return dumped;
}

/// How often a word is in a text.
inline size_t count(const std::string &text, const std::string &word)
{
   size_t found = 0;
   for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
      found++;
   return found;
}

inline bool run_shader(Executor &executor, const Program &program,
                       const std::vector<std::span<std::byte>> &buffers,
                       std::array<uint32_t, 3> groups)
{
   std::vector<runner::BufferView> views;
   for (uint32_t i = 0; i < buffers.size(); i++)
      views.push_back({{0, i}, buffers[i]});
   return runner::execute(executor, program, views, groups);
}

} // namespace weft::cpu
