// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Distances from lane 0's values, and their assumptions, by hand. memory_test has random chains of
/// operations.

#include "backend/cpu/codegen/facts/lane_offsets.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft::cpu::test {
namespace {

constexpr uint32_t W = 16;

class Offsets : public testing::Test {
protected:
   NirShader shader{W, 4 * W};
   nir_builder *b = &shader.b;
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *group = nir_channel(b, nir_load_workgroup_id(b), 0); ///< a value without known bits
   RowStart row_start = RowStart::multiple;
   // The assumptions and the residue from the last call of offsets().
   std::vector<LaneAssumption> assumptions;
   Residue assumed;

   std::vector<int64_t> offsets(nir_def *value)
   {
      nir_divergence_analysis(b->shader);
      nir_index_ssa_defs(b->impl);
      const LaneAnalysis patterns(b->shader, W);
      const LaneOffsetAnalysis analysis(b->shader, W, patterns, row_start);
      const LaneOffsets &found = analysis.offsets(nir_src_for_ssa(value));
      assumed = found.assumed;
      assumptions.clear();
      for (const uint32_t number : found.assumptions)
         assumptions.push_back(analysis.assumption(number));
      return found.from_first;
   }

   template <typename F>
   static std::vector<int64_t> each(const F &f)
   {
      std::vector<int64_t> numbers;
      for (int64_t l = 0; l < W; l++)
         numbers.push_back(f(l));
      return numbers;
   }
};

TEST_F(Offsets, OfSumsAndProducts)
{
   nir_def *sum = nir_iadd(b, group, nir_imul_imm(b, lane, 12));
   EXPECT_EQ(offsets(sum), each([](int64_t l) { return 12 * l; }));
   EXPECT_EQ(offsets(nir_isub(b, group, lane)), each([](int64_t l) { return -l; }));
   EXPECT_EQ(offsets(group), each([](int64_t) { return 0; }));
   EXPECT_TRUE(assumptions.empty());
   EXPECT_TRUE(offsets(nir_imul(b, lane, lane)).empty());
   EXPECT_TRUE(offsets(shader.load(0, nir_imul_imm(b, lane, 4), 1, 32)).empty());
}

TEST_F(Offsets, QuotientsAndRemaindersOfWhatIsKnown)
{
   EXPECT_EQ(offsets(nir_udiv_imm(b, lane, 4)), each([](int64_t l) { return l / 4; }));
   EXPECT_EQ(offsets(nir_umod_imm(b, lane, 4)), each([](int64_t l) { return l % 4; }));
   EXPECT_EQ(offsets(nir_iand_imm(b, lane, 6)), each([](int64_t l) { return l & 6; }));
   EXPECT_EQ(offsets(nir_iand_imm(b, lane, ~3u)), each([](int64_t l) { return l & ~3; }));
   EXPECT_TRUE(assumptions.empty());
   EXPECT_TRUE(offsets(nir_udiv_imm(b, lane, 3)).empty());
}

/// (row * columns + 8 * lane) / 32 * 18: blocks of 32 numbers in 18 bytes.
TEST_F(Offsets, RowsBeginWhereTheyShould)
{
   nir_def *place = nir_iadd(b, group, nir_imul_imm(b, lane, 8));
   nir_def *block = nir_udiv_imm(b, place, 32);
   EXPECT_EQ(offsets(nir_imul_imm(b, block, 18)), each([](int64_t l) { return l / 4 * 18; }));
   ASSERT_EQ(assumptions.size(), 1u);
   EXPECT_EQ(assumptions[0].def, place);
   // A multiple of 32, and no sum beyond the last number.
   EXPECT_EQ(assumptions[0].mask, 0xc000001f);
}

/// A multiple of 32 modulo 32 is 0. Bits without an assumption are unknown.
TEST_F(Offsets, AssumedBitsAreKnown)
{
   nir_def *place = nir_iadd(b, group, nir_imul_imm(b, lane, 8));
   offsets(nir_umod_imm(b, place, 32));
   EXPECT_EQ(assumed, (Residue{32, 0}));
   offsets(nir_iadd_imm(b, nir_imul_imm(b, nir_umod_imm(b, place, 32), 3), 5));
   EXPECT_EQ(assumed, (Residue{32, 5}));
   offsets(nir_udiv_imm(b, place, 32));
   EXPECT_EQ(assumed.bits, 0u);
   offsets(nir_iadd(b, place, nir_umod_imm(b, place, 32)));
   EXPECT_EQ(assumed.bits, 0u);
   offsets(nir_iadd_imm(b, lane, 7));
   EXPECT_EQ(assumed, (Residue{32, 7}));
   EXPECT_TRUE(assumptions.empty());
}

/// Rows of rings begin anywhere: the remainder of lane 0 leaves place for the other lanes.
TEST_F(Offsets, RemaindersRiseInRings)
{
   row_start = RowStart::anywhere;
   nir_def *place = nir_iadd(b, group, nir_imul_imm(b, lane, 2));
   EXPECT_EQ(offsets(nir_iand_imm(b, place, 255)), each([](int64_t l) { return 2 * l; }));
   EXPECT_EQ(assumptions, (std::vector<LaneAssumption>{{place, 0, 255, 255 - 30}}));
   EXPECT_EQ(assumed.bits, 0u);
   EXPECT_EQ(offsets(nir_umod_imm(b, place, 32)), each([](int64_t l) { return 2 * l; }));
   EXPECT_EQ(assumptions, (std::vector<LaneAssumption>{{place, 0, 31, 1}}));
   // Half of the lanes begin again, and lanes fall.
   EXPECT_EQ(offsets(nir_umod_imm(b, place, 16)), each([](int64_t l) { return 2 * l % 16; }));
   EXPECT_EQ(assumptions, (std::vector<LaneAssumption>{{place, 0, 15}}));
   nir_def *falling = nir_isub(b, group, lane);
   EXPECT_EQ(offsets(nir_iand_imm(b, falling, 255)), each([](int64_t l) { return -l & 255; }));
   EXPECT_EQ(assumptions, (std::vector<LaneAssumption>{{falling, 0, 255}}));
}

TEST_F(Offsets, StepsThatAreWholeNeedNoBeginning)
{
   nir_def *place = nir_iadd(b, group, nir_imul_imm(b, lane, 8));
   EXPECT_EQ(offsets(nir_udiv_imm(b, place, 4)), each([](int64_t l) { return 2 * l; }));
   ASSERT_EQ(assumptions.size(), 1u);
   EXPECT_EQ(assumptions[0].mask, 0xc0000000);
   EXPECT_EQ(offsets(nir_iand_imm(b, place, ~3u)), each([](int64_t l) { return 8 * l; }));
   EXPECT_EQ(offsets(nir_umod_imm(b, place, 8)), each([](int64_t) { return 0; }));
   EXPECT_TRUE(assumptions.empty());
}

/// The lowest bits of lane 0's value are known, and the sum changes no others.
TEST_F(Offsets, KnownLowBitsNeedNoAssumption)
{
   // 4 modulo 8 and up to 3 more: below the next multiple of 8, also where 4 is 1 modulo 3 steps.
   nir_def *row = nir_iadd(b, nir_imul_imm(b, group, 4), nir_udiv_imm(b, lane, 4));
   EXPECT_EQ(offsets(nir_udiv_imm(b, row, 8)), each([](int64_t) { return 0; }));
   EXPECT_EQ(offsets(nir_umod_imm(b, row, 8)), each([](int64_t l) { return l / 4; }));
   EXPECT_EQ(offsets(nir_iand_imm(b, row, ~1u)), each([](int64_t l) { return l / 4 & ~1; }));
   // 1 modulo 32, and even numbers up to 14 more.
   nir_def *col = nir_iadd_imm(b, nir_imul_imm(b, group, 32), 1);
   col = nir_iadd(b, col, nir_iand_imm(b, lane, ~1u));
   EXPECT_EQ(offsets(nir_udiv_imm(b, col, 16)), each([](int64_t) { return 0; }));
   EXPECT_EQ(offsets(nir_udiv_imm(b, col, 4)), each([](int64_t l) { return ((l & ~1) + 1) / 4; }));
   EXPECT_EQ(offsets(nir_iand_imm(b, col, 5)),
             each([](int64_t l) { return (((l & ~1) + 1) & 5) - 1; }));
   EXPECT_EQ(offsets(nir_u2u64(b, col)), each([](int64_t l) { return l & ~1; }));
   EXPECT_TRUE(assumptions.empty());
   // 17 modulo 32: the sum may carry into unknown bits.
   nir_def *far = nir_iadd_imm(b, nir_iadd(b, col, lane), 16);
   EXPECT_TRUE(offsets(nir_udiv_imm(b, far, 64)).empty());
}

/// The index of an element in a butterfly, in any row.
TEST_F(Offsets, ExclusiveOrChangesHighBitsAlike)
{
   nir_def *place = nir_iadd(b, nir_imul_imm(b, group, 16), lane);
   const auto meets = [&](uint32_t k) { return nir_ixor(b, place, nir_imm_int(b, int(k))); };
   EXPECT_EQ(offsets(meets(4)), each([](int64_t l) { return (l ^ 4) - 4; }));
   EXPECT_EQ(offsets(meets(32)), each([](int64_t l) { return l; }));
   EXPECT_EQ(offsets(meets(~2u)), each([](int64_t l) { return (l ^ 13) - 13; }));
   EXPECT_EQ(offsets(nir_udiv_imm(b, meets(1), 16)), each([](int64_t) { return 0; }));
   EXPECT_TRUE(assumptions.empty());
   // If lane 0's value may be 8 modulo 16, a sum may carry.
   nir_def *unaligned = nir_iadd(b, nir_imul_imm(b, group, 8), lane);
   EXPECT_TRUE(offsets(nir_ixor(b, unaligned, nir_imm_int(b, 1))).empty());
}

/// A loop adds to lane 0's value, so fewer of its bits are known than before the loop.
TEST_F(Offsets, PhisKnowWhatAllTheirSourcesDo)
{
   const auto check = [&](const std::function<nir_def *(nir_def *)> &ends) {
      assumptions.clear();
      nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "counter");
      nir_store_var(b, counter, nir_imm_int(b, 4), 1);
      nir_loop *loop = nir_push_loop(b);
      nir_def *number = nir_load_var(b, counter);
      nir_break_if(b, ends(number));
      nir_def *row = nir_iadd(b, number, nir_udiv_imm(b, lane, 4));
      nir_def *same = nir_udiv_imm(b, row, 4), *across = nir_udiv_imm(b, row, 2),
              *beyond = nir_udiv_imm(b, nir_iadd_imm(b, row, 2), 4);
      nir_store_var(b, counter, nir_iadd_imm(b, number, 12), 1);
      nir_pop_loop(b, loop);
      nir_lower_vars_to_ssa(b->shader);
      EXPECT_EQ(offsets(same), each([](int64_t) { return 0; }));
      EXPECT_EQ(offsets(across), each([](int64_t l) { return l / 8; }));
      EXPECT_EQ(offsets(beyond), each([](int64_t l) { return (l / 4 + 2) / 4; }));
   };
   check([&](nir_def *number) { return nir_uge(b, number, group); });
   ASSERT_EQ(assumptions.size(), 1u); // the assumption that no sum wraps
   EXPECT_EQ(assumptions[0].mask, 0xc0000000);
   // The counter's bound proves that no sum wraps.
   check([&](nir_def *number) { return nir_uge_imm(b, number, 100); });
   EXPECT_TRUE(assumptions.empty());
}

/// Two cases without assumptions: a mask of 64 bits with a hole, and sums of 16 bits that may reach
/// the sign.
TEST_F(Offsets, NothingIsAssumedOfTheHighestBits)
{
   nir_def *wide = nir_iadd(b, nir_u2u64(b, group), nir_u2u64(b, lane));
   EXPECT_TRUE(offsets(nir_iand_imm(b, wide, 0xf00000000000000f)).empty());
   nir_def *far = nir_imul_imm(b, nir_u2u16(b, lane), 2000);
   EXPECT_TRUE(offsets(nir_i2i32(b, nir_iadd(b, nir_u2u16(b, group), far))).empty());
   EXPECT_TRUE(offsets(nir_ushr_imm(b, nir_iadd(b, nir_u2u16(b, group), far), 4)).empty());
}

/// An assumption about a value of another branch or iteration cannot be checked.
TEST_F(Offsets, PhisAssumeNothing)
{
   nir_def *sum = nir_udiv_imm(b, nir_iadd(b, group, lane), 32), *own = nir_udiv_imm(b, lane, 4);
   nir_push_if(b, nir_ieq_imm(b, group, 7));
   nir_def *assumed = nir_iadd_imm(b, sum, 1), *known = nir_iadd_imm(b, own, 1);
   nir_pop_if(b, nullptr);
   EXPECT_TRUE(offsets(nir_if_phi(b, assumed, sum)).empty());
   EXPECT_EQ(offsets(nir_if_phi(b, known, own)), each([](int64_t l) { return l / 4; }));
}

} // namespace
} // namespace weft::cpu::test
