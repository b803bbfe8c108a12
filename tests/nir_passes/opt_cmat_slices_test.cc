// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/opt_cmat_slices.h"

#include "nir_passes/shader.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Products {
   std::string tiles = "4";    ///< rows and columns of tiles in the sum
   std::string between = "";   ///< the loads of the factors and the products
   std::string type = "float"; ///< of the sum
   std::string layout_of_a = "RowMajor";
};

/// Products with factors from shared memory, before matrices become components.
std::string sliced(const Products &products)
{
   const test::Source source = test::compile(e2e::expand(R"(
layout(set = 0, binding = 0) buffer Result { $TYPE data[]; } result;
shared float16_t factors[2048];
const uint tiles = $TILES;
coopmat<$TYPE, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[tiles][tiles];
coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a[tiles];
coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b[tiles];
void main()
{
   for (uint i = 0; i < tiles; i++) {
      for (uint j = 0; j < tiles; j++)
         coopMatLoad(sum[i][j], result.data, i * 4096 + j * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   }
   for (uint i = 0; i < tiles; i++)
      coopMatLoad(a[i], factors, i * 256, 16, gl_CooperativeMatrixLayout$LAYOUT);
   for (uint j = 0; j < tiles; j++)
      coopMatLoad(b[j], factors, 1024 + j * 256, 16, gl_CooperativeMatrixLayoutColumnMajor);
   $BETWEEN
   for (uint i = 0; i < tiles; i++) {
      for (uint j = 0; j < tiles; j++)
         sum[i][j] = coopMatMulAdd(a[i], b[j], sum[i][j]);
   }
   for (uint i = 0; i < tiles; i++) {
      for (uint j = 0; j < tiles; j++)
         coopMatStore(sum[i][j], result.data, i * 4096 + j * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   }
}
)",
                                                         {{"TYPE", products.type},
                                                          {"TILES", products.tiles},
                                                          {"LAYOUT", products.layout_of_a},
                                                          {"BETWEEN", products.between}}));
   const std::string text = test::before_lower_cmat(source);
   EXPECT_NE(text.find("@cmat_muladd"), text.npos);
   return text;
}

bool is_sliced(const std::string &text)
{
   return test::count(text, "loop {") == 1 &&
          text.find("coopmat<float16_t, SCOPE_SUBGROUP, 16, 4, A> slice") != text.npos &&
          text.find("coopmat<float16_t, SCOPE_SUBGROUP, 4, 16, B> slice") != text.npos;
}

TEST(OptCmatSlices, WhatIsMoreThanTheRegistersIsMultipliedInALoop)
{
   const std::string text = sliced({});
   EXPECT_TRUE(is_sliced(text)) << text;
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 16u) << text;
   /* Slices of the factors, beside unused loads of the factors and the loads of the sums. */
   EXPECT_EQ(test::count(text, "@cmat_load"), 8u + 8u + 16u) << text;
}

TEST(OptCmatSlices, SlicesMayLieAcrossLines)
{
   EXPECT_TRUE(is_sliced(sliced({.layout_of_a = "ColumnMajor"})));
}

TEST(OptCmatSlices, WhatFitsStays)
{
   EXPECT_FALSE(is_sliced(sliced({.tiles = "2"})));
}

TEST(OptCmatSlices, NarrowSumsAreRoundedOnce)
{
   EXPECT_FALSE(is_sliced(sliced({.type = "float16_t"})));
}

TEST(OptCmatSlices, MemoryThatMayChangeIsReadBefore)
{
   EXPECT_FALSE(is_sliced(sliced({.between = "barrier();"})));
   EXPECT_FALSE(is_sliced(sliced({.between = "factors[gl_LocalInvocationIndex] = float16_t(0);"})));
   EXPECT_TRUE(is_sliced(sliced({.between = "result.data[1 << 20] = 0;"})));
}

} // namespace
} // namespace weft
