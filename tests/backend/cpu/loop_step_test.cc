// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What loops prefetch: the distances in the LLVM IR of whole shaders.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <cstring>
#include <regex>
#include <set>

namespace weft::cpu {
namespace {

/// How far ahead of loads something is prefetched, in a shader with this in its main function.
std::set<int> distances(const std::string &body)
{
   const std::string glsl = R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) readonly buffer A { vec4 a[]; };
      layout(binding = 1) buffer O { vec4 o[]; };
      layout(push_constant) uniform Push { uint n, m; };
      shared vec4 staged[64];
      void main() {
         const uint i = gl_LocalInvocationIndex;
         vec4 sum = vec4(0);
   )" + body + R"(
         o[i] = sum;
      }
   )";
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
   ShaderSource source;
   source.spirv = spirv;
   source.entry_point = "main";
   CompileOptions options;
   options.subgroup_size = 16;
   options.robust_buffer_access = false;
   for (uint32_t i = 0; i < 2; i++)
      options.bindings.push_back({0, i, 0, uint32_t(i * sizeof(BufferDescriptor)), 0, 1, false});
   std::string llvm;
   options.dump = [&](const char *phase, const std::string &text) {
      if (!std::strcmp(phase, "llvm"))
         llvm = text;
   };
   const auto program = compile(source, options);
   EXPECT_TRUE(program) << program.error().message;
   std::set<std::string> prefetched;
   const std::regex prefetch(R"(@llvm\.prefetch\.p0\(ptr (%\w+))");
   for (std::sregex_iterator call(llvm.begin(), llvm.end(), prefetch), end; call != end; ++call)
      prefetched.insert((*call)[1]);
   std::set<int> result;
   const std::regex address(R"((%\w+) = getelementptr i8, ptr %\w+, i64 (-?\d+)\n)");
   for (std::sregex_iterator line(llvm.begin(), llvm.end(), address), end; line != end; ++line) {
      if (prefetched.contains((*line)[1]))
         result.insert(std::stoi((*line)[2]));
   }
   EXPECT_EQ(result.empty(), prefetched.empty()) << llvm;
   return result;
}

std::string staging(const std::string &counter, const std::string &index)
{
   return "for (" + counter + ") {\n   staged[i] = a[" + index +
          "];\n   barrier();\n   sum += staged[63 - i];\n   barrier();\n}\n";
}

/// 16 bytes each: a vector of 256 bytes is four lines.
TEST(LoopStep, WhatLoopsStage)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "k * 1024 + i")),
             (std::set<int>{16384, 16384 + 64, 16384 + 128, 16384 + 192}));
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += 32", "i / 8 * m + i % 8 + k / 4")),
             (std::set<int>{128, 128 + 64}));
   EXPECT_EQ(distances(staging("uint k = n; k > 0; k -= 8", "(m + k) * 8 + i")).count(-1024), 1u);
}

TEST(LoopStep, NothingWhereNothingIsKnown)
{
   EXPECT_EQ(distances(staging("uint k = 1; k < n; k *= 2", "k * 1024 + i")), std::set<int>());
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += m", "k * 1024 + i")), std::set<int>());
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "(m & 1) * 64 + i")), std::set<int>());
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "uint(a[k].x) + i")), std::set<int>());
}

TEST(LoopStep, NothingWhereEachLaneHasALineOfItsOwn)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += 32", "i * m + k / 4")), std::set<int>());
}

/// The CPU sees by itself what one loop reads one after the other.
TEST(LoopStep, NothingWithoutBarriers)
{
   EXPECT_EQ(distances("for (uint k = 0; k < n; k++) sum += a[k * 1024 + i];\n"), std::set<int>());
}

} // namespace
} // namespace weft::cpu
