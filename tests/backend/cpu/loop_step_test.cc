// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Prefetches: the distances in the plans of whole shaders, and the code in their LLVM IR.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::cpu {
namespace {

/// A dump of a shader whose main function has this body.
std::string dump_of_body(const char *phase, const std::string &body, int size = 64)
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
   return dump_of_shader(glsl, 2, phase, options);
}

/// The distances in bytes between loads and the memory that they prefetch.
std::set<int> distances(const std::string &body, int size = 64)
{
   const std::string plans = dump_of_body("accesses", body, size), word = "prefetches ";
   std::set<int> result;
   for (size_t at = plans.find(word); at != std::string::npos; at = plans.find(word, at + 1)) {
      if (plans[at + word.size()] != 'f') // for the next workgroup
         result.insert(std::stoi(plans.substr(at + word.size())));
   }
   return result;
}

std::string staging(const std::string &counter, const std::string &index)
{
   return "for (" + counter + ") {\n   staged[i] = a[" + index +
          "];\n   barrier();\n   sum += staged[63 - i];\n   barrier();\n}\n";
}

TEST(LoopStep, LoopsThatStage)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "k * 1024 + i")), std::set<int>{16384});
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += 32", "i / 8 * m + i % 8 + k / 4")),
             std::set<int>{128});
   EXPECT_EQ(distances(staging("uint k = n; k > 0; k -= 8", "(m + k) * 8 + i")).count(-1024), 1u);
}

/// Low bits that the step leaves as they are.
TEST(LoopStep, MasksOfTheCounter)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += 64", "k * 16 + (k + i & 63)")),
             std::set<int>{16384});
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += 48", "k * 16 + (k + i & 63)")),
             std::set<int>());
}

/// The subgroups together read 1 KiB per iteration without gaps, so a prefetch for the next
/// iteration would be late.
TEST(LoopStep, StreamsFartherAhead)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "k * 64 + i")), std::set<int>{8192});
}

/// Loops within the staging loop that begin at a constant or at a computed number.
TEST(LoopStep, InnerLoopsThatStage)
{
   const auto inner = [](const std::string &beginning, const std::string &index) {
      return distances("for (uint k = 0; k < n; k++) {\n   for (uint j = " + beginning +
                       "; j < m; j++)\n      staged[i ^ j] = a[" + index +
                       "];\n   barrier();\n   sum += staged[63 - i];\n   barrier();\n}\n");
   };
   const std::set<int> distance = {16384};
   EXPECT_EQ(inner("0", "k * 1024 + j * 64 + i"), distance);
   EXPECT_EQ(inner("k * 1024", "j + i"), distance);
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

TEST(LoopStep, NothingForALineOfEachLane)
{
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k += 32", "i * m + k / 4")), std::set<int>());
}

/// A workgroup of one subgroup prefetches only memory that no other workgroup reads.
TEST(LoopStep, SmallWorkgroupsThatStage)
{
   EXPECT_EQ(
      distances(staging("uint k = 0; k < n; k++", "(gl_WorkGroupID.x * m + k) * 16 + i"), 16),
      std::set<int>{8192});
   EXPECT_EQ(distances(staging("uint k = 0; k < n; k++", "(m + k) * 16 + i"), 16), std::set<int>());
   EXPECT_EQ(distances(staging("uint k = gl_WorkGroupID.x; k < n; k++", "k * 16 + i"), 16),
             std::set<int>{8192});
   EXPECT_EQ(distances(staging("uint k = gl_WorkGroupID.y; k < n; k++", "k * 16 + i"), 16),
             std::set<int>());
}

/// The number of prefetch instructions, one for each cache line.
int prefetches(const std::string &body)
{
   const std::string llvm = dump_of_body("llvm", body), call = "@llvm.prefetch.p0(ptr %";
   int count = 0;
   for (size_t at = llvm.find(call); at != std::string::npos; at = llvm.find(call, at + 1))
      count++;
   return count;
}

/// 16 bytes for each lane: a vector of 256 bytes is four lines.
TEST(Prefetch, LinesOfStagedMemory)
{
   EXPECT_EQ(prefetches(staging("uint k = 0; k < n; k++", "k * 1024 + i")), 4);
   EXPECT_EQ(prefetches(staging("uint k = 0; k < n; k += 32", "i / 8 * m + i % 8 + k / 4")), 4);
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

/// The CPU itself prefetches the memory of a loop that reads in order.
TEST(LoopStep, NothingWithoutBarriers)
{
   EXPECT_EQ(distances("for (uint k = 0; k < n; k++) sum += a[k * 1024 + i];\n"), std::set<int>());
}

} // namespace
} // namespace weft::cpu
