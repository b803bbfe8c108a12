// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The choice of loops to unroll. product_order_test.cc has the loops of products.

#include "backend/cpu/codegen/passes/choose_unrolling.h"

#include "nir_passes/compiler_options.h"
#include "nir_passes/shader.h"

#include "compiler/nir/nir_builder.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

TEST(ChooseUnrolling, BlocksOfProductsAreUnrolled)
{
   const LoopCost block = {.instructions = 4096, .tiles = 128, .products = 64};
   EXPECT_EQ(unrolling_of(block), nir_loop_control_unroll);
   LoopCost other = block;
   other.instructions = 4097;
   EXPECT_EQ(unrolling_of(other), nir_loop_control_dont_unroll);
   other = block;
   other.tiles = 129;
   EXPECT_EQ(unrolling_of(other), nir_loop_control_dont_unroll);
   other = block;
   other.products = 0;
   EXPECT_EQ(unrolling_of(other), nir_loop_control_dont_unroll);
   other = block;
   other.is_block = false;
   EXPECT_EQ(unrolling_of(other), nir_loop_control_dont_unroll);
}

TEST(ChooseUnrolling, LoopsThatWaitStayUnlessTheyIndexPrivateArrays)
{
   EXPECT_EQ(unrolling_of({.waits = true}), nir_loop_control_dont_unroll);
   EXPECT_EQ(unrolling_of({.waits = true, .indexes_private_array = true}), nir_loop_control_none);
   EXPECT_EQ(unrolling_of({.tiles = 1, .waits = true, .indexes_private_array = true}),
             nir_loop_control_dont_unroll);
}

TEST(ChooseUnrolling, NirsLimitsDecideOthers)
{
   EXPECT_EQ(unrolling_of({.instructions = 100000}), nir_loop_control_none);
}

TEST(ChooseUnrolling, TheShadersRequestToUnrollDoesNotCount)
{
   const auto control_after = [](nir_loop_control control) {
      const TypeTable types;
      nir_builder b =
         nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &llvm_compiler_options, "test");
      const Shader shader(b.shader);
      nir_loop *loop = nir_push_loop(&b);
      nir_jump(&b, nir_jump_break);
      nir_pop_loop(&b, loop);
      loop->control = control;
      choose_unrolling(shader.get(), 32);
      return loop->control;
   };
   EXPECT_EQ(control_after(nir_loop_control_unroll), nir_loop_control_none);
   EXPECT_EQ(control_after(nir_loop_control_dont_unroll), nir_loop_control_dont_unroll);
}

/// The number of barriers in the NIR of whole shaders.
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

TEST(ChooseUnrolling, ReductionsStayLoops)
{
   EXPECT_EQ(barriers(reduction), 1u);
   EXPECT_EQ(barriers("for (uint k = 0; k < 3; k++) {" + reduction + "}"), 1u);
}

TEST(ChooseUnrolling, ReductionsOfOneSubgroupAreUnrolled)
{
   EXPECT_EQ(barriers(reduction, 16), 4u);
}

TEST(ChooseUnrolling, LoopsOverPrivateArraysAreUnrolled)
{
   EXPECT_EQ(barriers("for (uint k = 0; k < 4; k++) { sums[i] += own[k]; barrier(); }"), 4u);
   // The index of another loop, which is unrolled inside.
   EXPECT_EQ(barriers("for (uint s = 8; s > 0; s /= 2) {"
                      "   for (uint k = 0; k < 4; k++) own[k] += sums[(i + s) % 64];"
                      "   barrier();"
                      "}"),
             1u);
}

} // namespace
} // namespace weft::cpu
