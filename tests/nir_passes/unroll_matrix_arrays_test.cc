// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/loops/unroll_matrix_arrays.h"

#include "nir_passes/shader.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// The shader before its matrices become components, with lower_matrices()' loops.
std::string unrolled(const std::string &multiply)
{
   const test::Source source = test::compile(R"(
layout(set = 0, binding = 0) buffer Memory { float16_t data[]; } memory;
layout(set = 0, binding = 1) buffer Result { float data[]; } result;
layout(push_constant) uniform Push { uint count; };
coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[2][3], sums[6];
coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a[2];
coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
void main()
{
   for (uint k = 0; k < count; k += 32) {
      [[unroll]] for (uint l = 0; l < 2; l++) {
         for (uint i = 0; i < 2; i++)
            coopMatLoad(a[i], memory.data, i * 256 + l, 16, gl_CooperativeMatrixLayoutRowMajor);
         for (uint j = 0; j < 3; j++) {
            coopMatLoad(b, memory.data, j * 256 + l, 16, gl_CooperativeMatrixLayoutRowMajor);
            )" + multiply + R"(
         }
      }
   }
   for (uint i = 0; i < 2; i++) {
      for (uint j = 0; j < 3; j++) {
         coopMatStore(sum[i][j], result.data, i * 768 + j * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(sums[j * 2 + i], result.data, i * 768 + j * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
      }
   }
}
)");
   return test::before_lower_cmat(source);
}

TEST(UnrollMatrixArrays, LoopsOverArraysAreUnrolledAndThoseAlongKAreNot)
{
   const std::string text = unrolled(R"(
            for (uint i = 0; i < 2; i++)
               sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);)");
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 6u) << text;
   EXPECT_EQ(test::count(text, "loop {"), 2u) << text;
}

TEST(UnrollMatrixArrays, AnIndexMayBeComputed)
{
   const std::string text = unrolled(R"(
            for (uint i = 0; i < 2; i++)
               sums[j * 2 + i] = coopMatMulAdd(a[i], b, sums[j * 2 + i]);)");
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 6u) << text;
   EXPECT_EQ(test::count(text, "loop {"), 2u) << text;
}

TEST(UnrollMatrixArrays, AnIndexOfUnknownRangeStays)
{
   const std::string text = unrolled(R"(
            for (uint i = 0; i < count; i++)
               sums[i] = coopMatMulAdd(a[0], b, sums[i]);)");
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 1u) << text;
}

} // namespace
} // namespace weft
