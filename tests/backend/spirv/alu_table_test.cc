// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The table itself. validate_spirv_form_test.cc translates every operation that it lists.

#include "backend/spirv/emit/alu_table.h"

#include <gtest/gtest.h>

#include <bit>

namespace weft::spirv {
namespace {

TEST(AluTable, HasOneRuleForEachSize)
{
   const auto rules = alu_rules();
   for (size_t i = 0; i < rules.size(); ++i) {
      SCOPED_TRACE(nir_op_infos[rules[i].op].name);
      EXPECT_NE(rules[i].sizes, 0);
      unsigned sizes = 0;
      bool has_ended = false;
      for (const AluRule &other : rules.subspan(i)) {
         has_ended |= other.op != rules[i].op;
         if (other.op != rules[i].op)
            continue;
         EXPECT_FALSE(has_ended) << "its rules are no neighbours";
         EXPECT_EQ(sizes & other.sizes, 0u);
         sizes |= other.sizes;
      }
      for (unsigned bits : {1u, 8u, 16u, 32u, 64u}) {
         if (rules[i].sizes & bits) {
            EXPECT_EQ(find_alu_rule(rules[i].op, bits), &rules[i]);
         }
      }
   }
}

TEST(AluTable, DependsOnTheSize)
{
   EXPECT_EQ(find_alu_rule(nir_op_iand, 32)->instruction, SpvOpBitwiseAnd);
   EXPECT_EQ(find_alu_rule(nir_op_iand, 1)->instruction, SpvOpLogicalAnd);
   EXPECT_EQ(find_alu_rule(nir_op_umin, 16)->extended, GLSLstd450UMin);
   EXPECT_EQ(find_alu_rule(nir_op_fsin, 64), nullptr);
   EXPECT_EQ(find_alu_rule(nir_op_bit_count, 16), nullptr);
   EXPECT_EQ(find_alu_rule(nir_op_fsat, 32), nullptr);
}

TEST(AluTable, ComparisonsGiveBooleans)
{
   const AluRule *less = find_alu_rule(nir_op_flt, 16);
   EXPECT_EQ(less->from, Kind::real);
   EXPECT_EQ(less->to, Kind::boolean);
}

/// SPV_KHR_cooperative_matrix, "Arithmetic Instructions".
TEST(AluTable, OperationsOnMatrices)
{
   std::vector<nir_op> ops;
   for (const AluRule &rule : alu_rules()) {
      if (rule.on_matrices)
         ops.push_back(rule.op);
   }
   EXPECT_EQ(ops, (std::vector<nir_op>{nir_op_fadd, nir_op_fsub, nir_op_fmul, nir_op_fdiv,
                                       nir_op_fneg, nir_op_iadd, nir_op_isub, nir_op_imul,
                                       nir_op_ineg, nir_op_idiv, nir_op_udiv}));
}

TEST(AluTable, Conversions)
{
   EXPECT_EQ(conversion_instruction(nir_op_f2f16), SpvOpFConvert);
   EXPECT_EQ(conversion_instruction(nir_op_f2i32), SpvOpConvertFToS);
   EXPECT_EQ(conversion_instruction(nir_op_f2u8), SpvOpConvertFToU);
   EXPECT_EQ(conversion_instruction(nir_op_i2f64), SpvOpConvertSToF);
   EXPECT_EQ(conversion_instruction(nir_op_u2f16), SpvOpConvertUToF);
   EXPECT_EQ(conversion_instruction(nir_op_i2i64), SpvOpSConvert);
   EXPECT_EQ(conversion_instruction(nir_op_u2u8), SpvOpUConvert);
   EXPECT_EQ(conversion_instruction(nir_op_b2f32), SpvOpNop);
   EXPECT_EQ(conversion_instruction(nir_op_fadd), SpvOpNop);
}

} // namespace
} // namespace weft::spirv
