// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which loops with barriers are unrolled: how often the barrier is in the NIR of whole shaders.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

size_t barriers(const std::string &body, uint32_t workgroup_size = 64)
{
   const std::string glsl = "layout(local_size_x = " + std::to_string(workgroup_size) + R"() in;
      layout(binding = 0) buffer O { uint o[]; };
      shared uint sums[64];
      void main() {
         const uint i = gl_LocalInvocationIndex;
         uint own[4] = {i, i + 1, i * 2, i * i};
         sums[i] = own[0];
         memoryBarrierShared();
   )" + body + R"(
         o[i] = sums[0] + own[1] + own[2] + own[3];
      }
   )";
   CompileOptions options;
   options.subgroup_size = 16;
   return count(dump_of_shader(glsl, 1, "nir", options), "execution_scope=WORKGROUP");
}

const std::string reduction =
   "for (uint s = 8; s > 0; s /= 2) { if (i < s) sums[i] += sums[i + s]; barrier(); }";

TEST(KeepBarrierLoops, ReductionsStayLoops)
{
   EXPECT_EQ(barriers(reduction), 1u);
   EXPECT_EQ(barriers("for (uint k = 0; k < 3; k++) {" + reduction + "}"), 1u);
}

TEST(KeepBarrierLoops, NotWhereOneSubgroupIsTheWorkgroup)
{
   EXPECT_EQ(barriers(reduction, 16), 4u);
}

TEST(KeepBarrierLoops, NotWhereTheIndexIsOneOfAPrivateArray)
{
   EXPECT_EQ(barriers("for (uint k = 0; k < 4; k++) { sums[i] += own[k]; barrier(); }"), 4u);
   // Of another loop, which is unrolled inside.
   EXPECT_EQ(barriers("for (uint s = 8; s > 0; s /= 2) {"
                      "   for (uint k = 0; k < 4; k++) own[k] += sums[(i + s) % 64];"
                      "   barrier();"
                      "}"),
             1u);
}

} // namespace
} // namespace weft::cpu
