// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The branches that lanes take together, in the NIR of whole shaders. Nothing else changes.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

constexpr uint32_t W = 16;

/// A loop with these statements around multiplications by the unit matrix, which add 1 to the
/// diagonal each.
std::string shader_with(const std::string &statements)
{
   return "layout(local_size_x = " + std::to_string(W) + R"() in;
      layout(binding = 0) buffer Numbers { uint n, m; float skipped[]; };
      layout(binding = 1) buffer Sums { float sums[]; };
      const int rows = gl_CooperativeMatrixLayoutRowMajor;
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
      coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
      layout(binding = 2) buffer Unit { float16_t unit[]; };
      void multiply() {
         coopMatLoad(a, unit, 0, 16, rows);
         c = coopMatMulAdd(a, b, c);
      }
      void main() {
         c = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
         coopMatLoad(b, unit, 0, 16, rows);
         for (uint i = 0; i < n; i++) {
            const bool skip = skipped[i * 16 + gl_SubgroupInvocationID] != 0;
   )" + statements +
          R"(
         }
         coopMatStore(c, sums, 0, 16, rows);
      }
   )";
}

size_t taken_together(const std::string &statements)
{
   CompileOptions options;
   options.subgroup_size = W;
   return count(dump_of_shader(shader_with(statements), 3, "nir", options),
                "@read_first_invocation");
}

TEST(UniformBranches, BeforeMatrixOperations)
{
   EXPECT_EQ(taken_together("if (skip) continue; multiply();"), 1u);
   EXPECT_EQ(taken_together("if (skip) break; multiply();"), 1u);
   EXPECT_EQ(taken_together("if (i < m) { if (skip) continue; sums[0]++; } multiply();"), 1u);
   EXPECT_EQ(
      taken_together("if (skip) continue; for (uint k = 0; k < m; k++) sums[k]++; multiply();"),
      1u);
}

TEST(UniformBranches, AroundMatrixOperations)
{
   EXPECT_EQ(taken_together("if (!skip) { sums[i]++; multiply(); }"), 1u);
   EXPECT_EQ(taken_together("if (skip) sums[i]++; else multiply();"), 1u);
   EXPECT_EQ(taken_together("if (!skip) { if (i < m) multiply(); }"), 0u);
}

TEST(UniformBranches, NotWhereOtherLanesMayGoOn)
{
   EXPECT_EQ(taken_together("multiply(); if (skip) continue; sums[i]++;"), 0u);
   EXPECT_EQ(taken_together("if (skip) continue; if (i < m) multiply();"), 0u);
   // The second branch is uniform, but before it the other lanes may jump.
   EXPECT_EQ(taken_together("if (skip) continue; if (skipped[i] == gl_SubgroupInvocationID) break;"
                            "multiply();"),
             1u);
   // For another m, all lanes reach the multiplication.
   EXPECT_EQ(taken_together("if (skip) { sums[gl_SubgroupInvocationID]++; if (i == m) break; }"
                            "multiply();"),
             0u);
}

TEST(UniformBranches, SkipWhatAllLanesSkip)
{
   const auto program = compile_shader(shader_with("if (skip) continue; multiply();"), W, 3);
   ASSERT_TRUE(program) << program.error().message;
   constexpr uint32_t iterations = 7;
   struct {
      uint32_t n = iterations, m = 0;
      float skipped[iterations][16] = {};
   } numbers;
   for (const uint32_t i : {0u, 3u, 4u})
      std::ranges::fill(numbers.skipped[i], 1.0f);
   std::vector<float> sums(16 * 16, -1);
   std::vector<uint16_t> unit(16 * 16, 0);
   for (uint32_t i = 0; i < 16; i++)
      unit[i * 17] = 0x3c00; // 1
   Executor executor(1);
   ASSERT_TRUE(
      run_shader(executor, **program,
                 {std::as_writable_bytes(std::span(&numbers, 1)),
                  std::as_writable_bytes(std::span(sums)), std::as_writable_bytes(std::span(unit))},
                 {1, 1, 1}));
   for (uint32_t i = 0; i < 16 * 16; i++)
      EXPECT_EQ(sums[i], i % 17 == 0 ? iterations - 3 : 0) << i;
}

} // namespace
} // namespace weft::cpu
