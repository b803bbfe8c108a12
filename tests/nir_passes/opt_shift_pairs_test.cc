// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Two ways to unpack a number become the same value.

#include "nir_passes/memory/opt_shift_pairs.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

class ShiftPairs : public testing::Test {
protected:
   test::Built built;
   nir_builder *b = &built.b;
   nir_def *x = nir_load_subgroup_invocation(b);

   /// The replacement of (x >> right) << left; null: none.
   nir_alu_instr *rewritten(uint32_t right, uint32_t left)
   {
      nir_def *use = nir_mov(b, nir_ishl_imm(b, nir_ushr_imm(b, x, right), left));
      if (!opt_shift_pairs(built.shader.get()))
         return nullptr;
      return nir_instr_as_alu(nir_instr_as_alu(use->parent_instr)->src[0].src.ssa->parent_instr);
   }
};

TEST_F(ShiftPairs, BecomeOneShiftAndAMask)
{
   const nir_alu_instr *mask = rewritten(4, 1);
   ASSERT_TRUE(mask);
   EXPECT_EQ(mask->op, nir_op_iand);
   EXPECT_EQ(nir_src_as_uint(mask->src[1].src), 0xfffffffeu);
   const nir_alu_instr *shift = nir_instr_as_alu(mask->src[0].src.ssa->parent_instr);
   EXPECT_EQ(shift->op, nir_op_ushr);
   EXPECT_EQ(shift->src[0].src.ssa, x);
   EXPECT_EQ(nir_src_as_uint(shift->src[1].src), 3u);
}

TEST_F(ShiftPairs, StayWhereNoneIsLeft)
{
   EXPECT_FALSE(rewritten(2, 2));
   EXPECT_FALSE(rewritten(2, 3));
}

} // namespace
} // namespace weft
