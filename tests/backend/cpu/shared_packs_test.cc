// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Products of tiles in shared memory that several subgroups load: which loads opt_shared_packs
/// divides among them, and results in random orders of subgroups.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::cpu {
namespace {

constexpr uint32_t side = 64, depth = 32, steps = 3;

/// The product of two matrices of 64 × 96 and 96 × 64 bytes, by four subgroups. The i-th of two
/// rows of tiles of a subgroup is 16 * (row + i); its columns are alike.
struct Shader {
   std::string row = "gl_SubgroupID / 2 * 2", col = "gl_SubgroupID % 2 * 2";
   std::string before_loads = "", between_loads = "";

   std::string glsl() const
   {
      const e2e::Words words = {
         {"ROW", row}, {"COL", col}, {"BEFORE", before_loads}, {"BETWEEN", between_loads}};
      return e2e::expand(R"(
   layout(local_size_x = 128) in;
   layout(binding = 0) buffer ABuffer { int8_t a_memory[]; };  // rows of 96
   layout(binding = 1) buffer BBuffer { int8_t b_memory[]; };  // columns of 96
   layout(binding = 2) buffer DBuffer { int d_memory[]; };     // rows of 64
   layout(binding = 3) buffer Numbers { uint zero; };
   const uint stride = 48;
   const int rows = gl_CooperativeMatrixLayoutRowMajor;
   const int columns = gl_CooperativeMatrixLayoutColumnMajor;
   shared int8_t a_lines[64 * stride], b_lines[64 * stride];
   shared uint other;
   void main() {
      const uint row = $ROW, col = $COL;
      coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c[2][2];
      for (uint i = 0; i < 4; i++)
         c[i / 2][i % 2] = coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
      for (uint k = 0; k < 96; k += 32) {
         for (uint i = gl_LocalInvocationIndex; i < 64 * 32; i += 128) {
            a_lines[i / 32 * stride + i % 32] = a_memory[i / 32 * 96 + k + i % 32];
            b_lines[i / 32 * stride + i % 32] = b_memory[i / 32 * 96 + k + i % 32];
         }
         barrier();
         $BEFORE
         coopmat<int8_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseA> a[2];
         coopmat<int8_t, gl_ScopeSubgroup, 32, 16, gl_MatrixUseB> b;
         coopMatLoad(a[0], a_lines, 16 * row * stride, stride, rows);
         coopMatLoad(a[1], a_lines, 16 * (row + 1) * stride, stride, rows);
         $BETWEEN
         [[unroll]] for (uint j = 0; j < 2; j++) {
            coopMatLoad(b, b_lines, 16 * (col + j) * stride, stride, columns);
            [[unroll]] for (uint i = 0; i < 2; i++)
               c[i][j] = coopMatMulAdd(a[i], b, c[i][j]);
         }
         barrier();
      }
      for (uint i = 0; i < 2; i++)
         for (uint j = 0; j < 2; j++)
            coopMatStore(c[i][j], d_memory, 16 * ((row + i) * 64 + col + j), 64, rows);
   })",
                         words);
   }

   /// How often a word is in a dump of the shader.
   size_t count_in(const std::string &dump, const char *word, uint32_t subgroup_size = 32) const
   {
      CompileOptions options;
      options.subgroup_size = subgroup_size;
      return count(dump_of_shader(glsl(), 4, dump, options), word);
   }

   /// The barriers of the shader's NIR: the shader's two, and one for loads that are divided.
   size_t barriers(uint32_t subgroup_size = 32) const
   {
      return count_in("nir", "@barrier", subgroup_size);
   }
};

TEST(SharedPacks, AreDividedAmongSubgroups)
{
   EXPECT_EQ(Shader{}.barriers(), 3u);
   EXPECT_EQ((Shader{"gl_SubgroupID / 4", "gl_SubgroupID"}.barriers()), 3u);
   EXPECT_EQ((Shader{"gl_LocalInvocationIndex / 64 * 2", "gl_SubgroupID % 2 * 2"}.barriers()), 3u);
   EXPECT_EQ(Shader{}.barriers(16), 3u);
}

/// Tiles of a group lie at known distances.
TEST(SharedPacks, AreMultipliedByOneCall)
{
   EXPECT_EQ(Shader{}.count_in("nir", "@tile_muladd_weft"), 4u);
   EXPECT_EQ(Shader{}.count_in("llvm", "call void @weft_tile_muladd"), 1u);
}

/// Subgroups whose tiles overlap in part form no group.
TEST(SharedPacks, OfOtherTilesStay)
{
   EXPECT_EQ((Shader{"gl_SubgroupID", "gl_SubgroupID"}.barriers()), 2u);
}

/// A barrier would cost as much as two groups of two subgroups save.
TEST(SharedPacks, OfOneFactorStay)
{
   EXPECT_EQ((Shader{"gl_SubgroupID / 2 * 2", "gl_SubgroupID"}.barriers()), 2u);
}

TEST(SharedPacks, AtUnknownPlacesStay)
{
   EXPECT_EQ((Shader{"zero + gl_SubgroupID / 2", "zero + gl_SubgroupID % 2"}.barriers()), 2u);
}

TEST(SharedPacks, BehindWritesStay)
{
   EXPECT_EQ((Shader{.before_loads = "other = 1;"}.barriers()), 2u);
   EXPECT_EQ((Shader{.between_loads = "other = 1;"}.barriers()), 2u);
   EXPECT_EQ((Shader{.before_loads = "if (zero == 0) other = 1;"}.barriers()), 2u);
}

/// A product of whole matrices with each way to divide them, in orders of subgroups that reveal a
/// missing barrier.
TEST(SharedPacks, ResultsAreTheProduct)
{
   std::mt19937_64 random(test::test_seed());
   std::vector<int8_t> a(side * depth * steps), b(a.size());
   for (std::vector<int8_t> *matrix : {&a, &b}) {
      for (int8_t &number : *matrix)
         number = int8_t(random());
   }
   std::vector<int32_t> expected(side * side);
   for (uint32_t i = 0; i < side * side; i++) {
      for (uint32_t k = 0; k < depth * steps; k++)
         expected[i] += a[i / side * depth * steps + k] * b[i % side * depth * steps + k];
   }
   const struct {
      Shader shader;
      uint32_t rows = side; ///< of the product
   } cases[] = {
      {{}},
      {{"gl_SubgroupID % 2 * 2", "gl_SubgroupID / 2 * 2"}},
      {{"(gl_SubgroupID ^ gl_SubgroupID >> 1) % 2 * 2", "(3 - gl_SubgroupID) / 2 * 2"}},
      // One factor only is divided.
      {{"gl_SubgroupID / 4", "zero + gl_SubgroupID % 2 * 2"}, 32},
   };
   for (const auto &[shader, rows] : cases) {
      EXPECT_EQ(shader.barriers(), 3u);
      const auto program = compile_shader(shader.glsl(), 32, 4);
      ASSERT_TRUE(program) << program.error().message;
      for (uint32_t order = 0; order < 8; order++) {
         Executor executor(1, order);
         std::vector<int32_t> d(side * side, -1);
         uint32_t zero = 0;
         ASSERT_TRUE(run_shader(
            executor, **program,
            {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b)),
             std::as_writable_bytes(std::span(d)), std::as_writable_bytes(std::span(&zero, 1))},
            {1, 1, 1}));
         EXPECT_TRUE(std::equal(d.begin(), d.begin() + rows * side, expected.begin()))
            << shader.row << ", " << shader.col << ", order " << order;
      }
   }
}

} // namespace
} // namespace weft::cpu
