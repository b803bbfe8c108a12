// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What loops prefetch: the distances in the LLVM IR of whole shaders.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

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
   CompileOptions options;
   options.subgroup_size = 16;
   options.robust_buffer_access = false;
   const std::string llvm = dump_of_shader(glsl, 2, "llvm", options);
   std::set<std::string> prefetched;
   const std::string call = "@llvm.prefetch.p0(ptr ", step = " = getelementptr i8, ptr %";
   std::istringstream lines(llvm);
   for (std::string line; std::getline(lines, line);) {
      if (const size_t at = line.find(call);
          at != std::string::npos && line[at + call.size()] == '%') {
         const size_t name = at + call.size();
         prefetched.insert(line.substr(name, line.find(',', name) - name));
      }
   }
   std::set<int> result;
   lines = std::istringstream(llvm);
   for (std::string line; std::getline(lines, line);) {
      const size_t at = line.find(step), name = line.find('%'), number = line.rfind("i64 ");
      if (at != std::string::npos && number != std::string::npos &&
          line.find('%', number) == std::string::npos &&
          prefetched.contains(line.substr(name, at - name)))
         result.insert(std::stoi(line.substr(number + 4)));
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
