// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/implied_values.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

class ImpliedValues : public testing::Test {
protected:
   nir_def *push_constant(uint32_t byte, unsigned components = 1)
   {
      return _nir_build_load_push_constant(
         b(), components, 32, nir_imm_int(b(), int(byte)),
         {._ = 0, .base = 0, .range = 256, .align_mul = 4, .align_offset = 0});
   }
   nir_builder *b() { return &shader.b; }

   /// Stores the value, so that its replacement can be seen.
   nir_intrinsic_instr *use(nir_def *value)
   {
      if (value->bit_size == 1)
         value = nir_b2i32(b(), value);
      shader.store(0, nir_imm_int(b(), 0), value);
      return nir_instr_as_intrinsic(nir_block_last_instr(nir_cursor_current_block(b()->cursor)));
   }
   /// The stored value after constant folding; nothing if it is not constant.
   std::optional<uint64_t> constant(const nir_intrinsic_instr *store)
   {
      while (nir_copy_prop(b()->shader) || nir_opt_constant_folding(b()->shader))
         ;
      const nir_scalar stored = nir_scalar_chase_movs(nir_get_scalar(store->src[0].ssa, 0));
      return nir_scalar_is_const(stored) ? std::optional(nir_scalar_as_uint(stored)) : std::nullopt;
   }
   void imply(nir_def *condition, bool value)
   {
      replace_implied_values(b(), nir_get_scalar(condition, 0), value);
      nir_validate_shader(b()->shader, "after replace_implied_values");
   }

   test::NirShader shader{16, 16};
};

TEST_F(ImpliedValues, EqualityGivesAConstant)
{
   nir_def *x = push_constant(4);
   nir_def *condition = nir_ieq_imm(b(), x, 3);
   const auto *of_x = use(nir_iadd_imm(b(), x, 1)), *of_condition = use(condition);
   imply(condition, true);
   EXPECT_EQ(constant(of_x), 4u);
   EXPECT_EQ(constant(of_condition), 1u);
}

TEST_F(ImpliedValues, InequalityGivesNone)
{
   nir_def *x = push_constant(4);
   nir_def *condition = nir_ieq_imm(b(), x, 3);
   const auto *of_x = use(nir_iadd_imm(b(), x, 1)), *of_condition = use(condition);
   imply(condition, false);
   EXPECT_FALSE(constant(of_x));
   EXPECT_EQ(constant(of_condition), 0u);
}

TEST_F(ImpliedValues, NoInequalityIsEquality)
{
   nir_def *x = push_constant(4);
   const auto *of_x = use(nir_iadd_imm(b(), x, 1));
   imply(nir_ine(b(), nir_imm_int(b(), 7), x), false);
   EXPECT_EQ(constant(of_x), 8u);
}

TEST_F(ImpliedValues, OfConjunctionsAndDisjunctions)
{
   using Known = std::pair<std::optional<uint64_t>, std::optional<uint64_t>>; // x, x == 3
   const auto known = [&](bool conjunction, bool value) {
      nir_def *x = push_constant(4), *y = push_constant(8);
      nir_def *is_x = nir_ieq_imm(b(), x, 3), *is_y = nir_ieq_imm(b(), y, 5);
      const auto *of_x = use(x), *of_is_x = use(is_x);
      nir_def *other = nir_inot(b(), is_x);
      imply(conjunction ? nir_iand(b(), is_x, is_y) : nir_ior(b(), other, is_y), value);
      return Known(constant(of_x), constant(of_is_x));
   };
   EXPECT_EQ(known(true, true), Known(3, 1));
   EXPECT_EQ(known(true, false), Known());
   EXPECT_EQ(known(false, true), Known());
   EXPECT_EQ(known(false, false), Known(3, 1));
}

TEST_F(ImpliedValues, AllLoadsOfAPushConstant)
{
   nir_def *x = push_constant(4);
   const auto *of_same = use(push_constant(4));
   nir_def *several = push_constant(0, 4);
   const auto *of_component = use(nir_channel(b(), several, 1)),
              *of_other = use(nir_channel(b(), several, 2));
   imply(nir_ieq_imm(b(), x, 3), true);
   EXPECT_EQ(constant(of_same), 3u);
   EXPECT_EQ(constant(of_component), 3u);
   EXPECT_FALSE(constant(of_other));
}

TEST_F(ImpliedValues, MultiplesShowTheirLowBits)
{
   nir_def *x = push_constant(4);
   nir_def *low = nir_iand_imm(b(), x, 31);
   const auto *of_low = use(low), *of_x = use(nir_iand_imm(b(), x, 15));
   imply(nir_ieq_imm(b(), low, 0), true);
   EXPECT_EQ(constant(of_low), 0u);
   EXPECT_FALSE(constant(of_x));
   const nir_scalar masked = nir_scalar_chase_alu_src(nir_get_scalar(of_x->src[0].ssa, 0), 0);
   ASSERT_TRUE(nir_scalar_is_alu(masked));
   EXPECT_EQ(nir_scalar_alu_op(masked), nir_op_iand);
   EXPECT_EQ(nir_scalar_as_uint(nir_scalar_chase_alu_src(masked, 1)), 0xffffffe0u);
}

/// -0 equals 0.
TEST_F(ImpliedValues, FloatsAreLeftAlone)
{
   nir_def *x = push_constant(4);
   const auto *of_x = use(x);
   imply(nir_feq_imm(b(), x, 0), true);
   EXPECT_FALSE(constant(of_x));
}

} // namespace
} // namespace weft::cpu
