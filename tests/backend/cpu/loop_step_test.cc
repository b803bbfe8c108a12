// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Prefetches: their distances in the LLVM IR of whole shaders.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace weft::cpu {
namespace {

/// The IR of a shader with this in its main function.
std::string llvm_of(const std::string &body, int size = 64)
{
   const std::string glsl = "layout(local_size_x = " + std::to_string(size) + ") in;" + R"(
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
   return dump_of_shader(glsl, 2, "llvm", options);
}

const std::string call = "@llvm.prefetch.p0(ptr ";

/// How far ahead of loads something is prefetched, where that is known.
std::set<int> distances(const std::string &body, int size = 64)
{
   const std::string llvm = llvm_of(body, size);
   std::set<std::string> prefetched;
   const std::string step = " = getelementptr i8, ptr %";
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

/// 1 KiB after 1 KiB by all subgroups: one more would come late.
TEST(LoopStep, StreamsFartherAhead)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "k * 64 + i")),
             (std::set<int>{8192, 8192 + 64, 8192 + 128, 8192 + 192}));
}

/// Also by loops within the one that waits, from wherever these begin.
TEST(LoopStep, WhatInnerLoopsStage)
{
   const auto inner = [](const std::string &beginning, const std::string &index) {
      return distances("for (uint k = 0; k < n; k++) {\n   for (uint j = " + beginning +
                       "; j < m; j++)\n      staged[i ^ j] = a[" + index +
                       "];\n   barrier();\n   sum += staged[63 - i];\n   barrier();\n}\n");
   };
   const std::set<int> lines = {16384, 16384 + 64, 16384 + 128, 16384 + 192};
   EXPECT_EQ(inner("0", "k * 1024 + j * 64 + i"), lines);
   EXPECT_EQ(inner("k * 1024", "j + i"), lines);
   EXPECT_EQ(inner("0", "j * 64 + i"), std::set<int>());
   EXPECT_EQ(inner("k * k", "j * 64 + i"), std::set<int>());
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

/// Successive accesses, far enough ahead; of one subgroup, only the workgroup's own.
TEST(LoopStep, WhatSmallWorkgroupsStage)
{
   EXPECT_EQ(
      distances(staging("uint k = 0; k < n; k++", "(gl_WorkGroupID.x * m + k) * 16 + i"), 16),
      (std::set<int>{8192, 8192 + 64, 8192 + 128, 8192 + 192}));
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "(m + k) * 16 + i"), 16), std::set<int>());
   EXPECT_EQ(distances(staging("uint k = gl_WorkGroupID.x; k < n; k++", "k * 16 + i"), 16).size(),
             4u);
   EXPECT_EQ(distances(staging("uint k = gl_WorkGroupID.y; k < n; k++", "k * 16 + i"), 16),
             std::set<int>());
}

/// How many lines are.
int prefetches(const std::string &body)
{
   const std::string llvm = llvm_of(body);
   int count = 0;
   for (size_t at = llvm.find(call + '%'); at != std::string::npos;
        at = llvm.find(call + '%', at + 1))
      count++;
   return count;
}

TEST(Prefetch, WhatTheNextWorkgroupLoads)
{
   EXPECT_EQ(prefetches("sum = a[gl_WorkGroupID.x * 64 + i];"), 4);
   EXPECT_EQ(
      prefetches("for (uint k = 0; k < n; k++) sum += a[(gl_WorkGroupID.x * m + k) * 64 + i];"), 4);
   EXPECT_EQ(prefetches("sum = a[gl_WorkGroupID.y * 64 + i];"), 0);
   EXPECT_EQ(prefetches("sum = a[gl_WorkGroupID.x + i * m];"), 0);
   EXPECT_EQ(prefetches("sum = vec4(a[gl_WorkGroupID.x * 64 + i].x);"),
             0); // a quarter of each line
   EXPECT_EQ(prefetches("sum = a[n / gl_WorkGroupID.x * 64 + i];"), 0);
}

TEST(Prefetch, WhereTheWorkgroupIsKnownInOtherBlocks)
{
   EXPECT_EQ(prefetches("if (n > 5) sum = vec4(gl_WorkGroupID.x); else sum = a[m * 64 + i];"), 0);
   EXPECT_EQ(prefetches("if (i > n) sum = vec4(gl_WorkGroupID.x); sum += a[m * 64 + i];"), 0);
}

/// The CPU's own prefetcher handles a loop's successive reads.
TEST(LoopStep, NothingWithoutBarriers)
{
   EXPECT_EQ(distances("for (uint k = 0; k < n; k++) sum += a[k * 1024 + i];\n"), std::set<int>());
}

} // namespace
} // namespace weft::cpu
