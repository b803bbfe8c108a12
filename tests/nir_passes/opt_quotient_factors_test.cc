// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Divisions by constants move into the constant factors of products.

#include "nir_passes/opt_quotient_factors.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace weft {
namespace {

class QuotientFactors : public testing::Test {
protected:
   test::Built built;
   nir_builder *b = &built.b;
   nir_def *x = nir_u2f32(b, nir_load_subgroup_invocation(b));
   nir_def *one = nir_imm_float(b, 1);

   nir_def *quotient(float divisor) { return nir_fdiv(b, x, nir_imm_float(b, divisor)); }

   /// The constant factor of x in this product, after the pass; nothing if the pass left it.
   std::optional<float> factor(nir_def *product)
   {
      if (!opt_quotient_factors(built.shader.get()))
         return {};
      const nir_alu_instr *alu = nir_instr_as_alu(product->parent_instr);
      const unsigned constant = nir_src_is_const(alu->src[0].src) ? 0 : 1;
      EXPECT_EQ(alu->src[1 - constant].src.ssa, x);
      return float(nir_src_as_float(alu->src[constant].src));
   }
};

TEST_F(QuotientFactors, OfProducts)
{
   EXPECT_EQ(factor(nir_fmul(b, quotient(255), nir_imm_float(b, 0.25f))), 0.25f / 255);
   EXPECT_EQ(factor(nir_fmul(b, nir_imm_float(b, -3), quotient(7))), -3.f / 7);
}

TEST_F(QuotientFactors, OfMultiplyAdds)
{
   nir_def *sum = nir_ffma(b, nir_imm_float(b, 5), quotient(255), one);
   EXPECT_EQ(factor(sum), 5.f / 255);
   EXPECT_EQ(nir_instr_as_alu(sum->parent_instr)->src[2].src.ssa, one);
}

TEST_F(QuotientFactors, StayWithoutConstants)
{
   EXPECT_FALSE(factor(nir_fmul(b, quotient(255), x)));
   EXPECT_FALSE(factor(nir_fmul(b, nir_fdiv(b, one, x), nir_imm_float(b, 2))));
   EXPECT_FALSE(factor(nir_ffma(b, x, x, quotient(255))));
}

/// Below 1, x ÷ c may overflow where the new product does not.
TEST_F(QuotientFactors, StayWithSmallDivisors)
{
   EXPECT_FALSE(factor(nir_fmul(b, quotient(0.5f), nir_imm_float(b, 2))));
}

/// Constants of less than the least normal number lose bits.
TEST_F(QuotientFactors, StayWithoutNormalConstants)
{
   const float least = std::numeric_limits<float>::min();
   EXPECT_FALSE(factor(nir_fmul(b, quotient(255), nir_imm_float(b, least * 254))));
   EXPECT_TRUE(factor(nir_fmul(b, quotient(255), nir_imm_float(b, least * 256))));
}

TEST_F(QuotientFactors, StayInExactInstructions)
{
   nir_def *product = nir_fmul(b, quotient(255), nir_imm_float(b, 2));
   nir_instr_as_alu(product->parent_instr)->exact = true;
   EXPECT_FALSE(factor(product));
   nir_def *exact = quotient(255);
   nir_instr_as_alu(exact->parent_instr)->exact = true;
   EXPECT_FALSE(factor(nir_fmul(b, exact, nir_imm_float(b, 2))));
}

} // namespace
} // namespace weft
