// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The plans of look-ups, by hand. tables_test runs their code.

#include "backend/cpu/codegen/plans/table_plan.h"

#include "tests/backend/cpu/nir_harness.h"

#include "util/ralloc.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace weft::cpu::test {
namespace {

constexpr uint32_t W = 16;

class TablePlanTest : public testing::Test {
protected:
   NirShader shader{W, W};
   nir_builder *b = &shader.b;
   nir_def *word = shader.load(0, nir_imul_imm(b, shader.local_index(), 4), 1, 32);
   HostTarget target = {.vector_bits = 512, .shuffles_two_registers = true};

   nir_def *low_bits(unsigned shift, unsigned mask = 15)
   {
      return nir_iand_imm(b, nir_ushr_imm(b, word, shift), mask);
   }

   /// The plan for a value, or "".
   std::string plan_of(nir_def *value)
   {
      nir_divergence_analysis(b->shader);
      nir_index_ssa_defs(b->impl);
      IntegerRanges ranges(b->shader);
      const TablePlans plans(b->shader, target, ranges);
      const TablePlan *plan = plans.of(*value, 0);
      return plan ? describe(*plan) : "";
   }
   bool is_look_up(nir_def *value) { return !plan_of(value).empty(); }

   void expect_table(nir_def *value, nir_def *index, const std::vector<float> &entries)
   {
      TablePlan expected = {nir_get_scalar(index, 0), {}};
      for (const float entry : entries)
         expected.entries.push_back(std::bit_cast<uint32_t>(entry));
      const std::string found = plan_of(value);
      EXPECT_EQ(found, describe(expected));
   }
};

/// The permutation masks the index, so the index is the number before the mask.
TEST_F(TablePlanTest, FourBitsThatBecomeFloats)
{
   nir_def *shifted = nir_ushr_imm(b, word, 4);
   nir_def *number = nir_fadd_imm(b, nir_u2f32(b, nir_iand_imm(b, shifted, 15)), -8);
   expect_table(number, shifted, {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7});
}

/// A mask of fewer bits repeats the entries.
TEST_F(TablePlanTest, MasksOfFewerBits)
{
   nir_def *few = nir_u2f32(b, nir_iand_imm(b, word, 3));
   expect_table(few, word, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
   nir_def *even = nir_u2f32(b, nir_iand_imm(b, word, 10));
   expect_table(even, word, {0, 0, 2, 2, 0, 0, 2, 2, 8, 8, 10, 10, 8, 8, 10, 10});
}

/// The low bits of each value select its entry, wherever the range begins.
TEST_F(TablePlanTest, RangesOfFewValues)
{
   nir_def *top = nir_ushr_imm(b, word, 28), *from = nir_iadd_imm(b, top, 3);
   expect_table(nir_fmul_imm(b, nir_u2f32(b, top), 2), top,
                {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30});
   // The index is the deepest value, and not the sum.
   expect_table(nir_u2f32(b, from), top, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18});
   nir_def *at_least = nir_umax(b, nir_umin(b, word, nir_imm_int(b, 18)), nir_imm_int(b, 14));
   nir_def *twice = nir_fmul_imm(b, nir_u2f32(b, at_least), 2);
   expect_table(twice, at_least, {32, 34, 36, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 28, 30});
}

TEST_F(TablePlanTest, FiveBitsTakeTwoRegisters)
{
   nir_def *number = nir_fadd_imm(b, nir_u2f32(b, low_bits(8, 31)), -16);
   EXPECT_TRUE(is_look_up(number));
   // Two instructions are as fast.
   EXPECT_FALSE(is_look_up(nir_u2f32(b, low_bits(8, 31))));
   EXPECT_FALSE(is_look_up(nir_fadd_imm(b, nir_u2f32(b, low_bits(8, 63)), -16)));
   target.shuffles_two_registers = false;
   EXPECT_FALSE(is_look_up(number));
}

TEST_F(TablePlanTest, NarrowRegistersHaveFewerEntries)
{
   target = {.vector_bits = 256};
   EXPECT_FALSE(is_look_up(nir_fadd_imm(b, nir_u2f32(b, low_bits(4)), -8)));
   expect_table(nir_fneg(b, nir_u2f32(b, nir_iand_imm(b, word, 7))), word,
                {-0.f, -1, -2, -3, -4, -5, -6, -7});
}

/// An expression of several uses of one number.
TEST_F(TablePlanTest, ExpressionsOfOneNumber)
{
   nir_def *number = low_bits(0);
   nir_def *size = nir_u2f32(b, nir_iand_imm(b, number, 7));
   nir_def *value =
      nir_bcsel(b, nir_ine_imm(b, nir_iand_imm(b, number, 8), 0), nir_fneg(b, size), size);
   expect_table(nir_fmul_imm(b, value, 1), word,
                {0, 1, 2, 3, 4, 5, 6, 7, -0.f, -1, -2, -3, -4, -5, -6, -7});
}

TEST_F(TablePlanTest, NothingForSeveralNumbers)
{
   nir_def *low = nir_u2f32(b, low_bits(0)), *high = nir_u2f32(b, low_bits(4));
   EXPECT_FALSE(is_look_up(nir_fadd(b, low, high)));
   EXPECT_FALSE(is_look_up(nir_fmul(b, low, nir_u2f32(b, shader.workgroup()))));
}

TEST_F(TablePlanTest, NothingForOneInstruction)
{
   EXPECT_FALSE(is_look_up(nir_u2f32(b, nir_ushr_imm(b, word, 28))));
   // Addresses keep their form.
   EXPECT_FALSE(is_look_up(nir_iadd_imm(b, nir_imul_imm(b, low_bits(0), 12), 7)));
}

TEST_F(TablePlanTest, NothingForUniformNumbers)
{
   nir_def *number = nir_iand_imm(b, shader.workgroup(), 15);
   EXPECT_FALSE(is_look_up(nir_fadd_imm(b, nir_u2f32(b, number), -8)));
}

/// 1 / 0 is a number, but its product with 0 has bits that differ between code and folding.
TEST_F(TablePlanTest, NothingForNans)
{
   nir_def *number = nir_u2f32(b, low_bits(0));
   EXPECT_TRUE(is_look_up(nir_fmul_imm(b, number, 0x1p127)));
   EXPECT_FALSE(is_look_up(nir_fmul_imm(b, number, INFINITY)));
}

/// Functions of mathematics are not exact.
TEST_F(TablePlanTest, NothingForInexactOperations)
{
   EXPECT_FALSE(is_look_up(nir_fexp2(b, nir_u2f32(b, low_bits(0)))));
}

/// Code of a block that is emitted twice knows values of its own.
TEST_F(TablePlanTest, IndicesAreOfTheSameBlock)
{
   nir_def *number = low_bits(0);
   nir_push_if(b, nir_ieq_imm(b, shader.workgroup(), 3));
   nir_def *value = nir_fadd_imm(b, nir_u2f32(b, number), -8);
   EXPECT_FALSE(is_look_up(value));
   nir_pop_if(b, nullptr);
}

TEST_F(TablePlanTest, ConstantArrays)
{
   const float values[16] = {1, 10, -2, 7, 8, 9, 11, -3, 5, 6, 4, 12, 13, 14, 15, 0.5};
   b->shader->constant_data = rzalloc_size(b->shader, sizeof values);
   b->shader->constant_data_size = sizeof values;
   memcpy(b->shader->constant_data, values, sizeof values);
   const auto load = [&](nir_def *offset) {
      return _nir_build_load_constant(b, 1, 32, offset,
                                      {._ = 0,
                                       .base = 0,
                                       .range = sizeof values,
                                       .access = gl_access_qualifier(0),
                                       .align_mul = 4,
                                       .align_offset = 0});
   };
   expect_table(load(nir_ishl_imm(b, low_bits(0), 2)), word,
                {std::begin(values), std::end(values)});
   // The last entry is behind the end.
   EXPECT_FALSE(is_look_up(load(nir_iadd_imm(b, nir_ishl_imm(b, low_bits(0), 2), 4))));
}

} // namespace
} // namespace weft::cpu::test
