// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares the bounds of values with bounds that are computed by hand.

#include "backend/cpu/codegen/facts/integer_ranges.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft::cpu::test {
namespace {

class IntegerRangesTest : public testing::Test {
protected:
   NirShader shader{16, 16};
   nir_builder *b = &shader.b;
   nir_def *unknown = shader.workgroup();

   uint64_t largest(nir_def *value)
   {
      return IntegerRanges(b->shader).of(nir_get_scalar(value, 0)).high;
   }

   /// The maximum of 4 * i + 100 for a counter that continues from `begin` by `step` until `leaves`
   /// is true, for the counter and for its next value.
   uint64_t of_counter(nir_def *begin, int step,
                       const std::function<nir_def *(nir_def *now, nir_def *next)> &leaves,
                       bool asks_at_end)
   {
      nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "counter");
      nir_store_var(b, counter, begin, 1);
      nir_loop *loop = nir_push_loop(b);
      nir_def *now = nir_load_var(b, counter);
      nir_def *next = nir_iadd_imm(b, now, step);
      if (!asks_at_end)
         nir_break_if(b, leaves(now, next));
      nir_def *value = nir_iadd_imm(b, nir_ishl_imm(b, now, 2), 100);
      shader.store(0, value, value);
      nir_store_var(b, counter, next, 1);
      if (asks_at_end)
         nir_break_if(b, leaves(now, next));
      nir_pop_loop(b, loop);
      nir_lower_vars_to_ssa(b->shader);
      return largest(value);
   }
};

TEST_F(IntegerRangesTest, OfArithmetic)
{
   nir_def *few = nir_iand_imm(b, unknown, 15);
   EXPECT_EQ(largest(few), 15u);
   EXPECT_EQ(largest(nir_iadd(b, nir_ishl_imm(b, few, 4), nir_imm_int(b, 8))), 248u);
   EXPECT_EQ(largest(nir_imul(b, few, nir_umin(b, nir_imm_int(b, 9), unknown))), 135u);
   EXPECT_EQ(largest(nir_ushr_imm(b, unknown, 28)), 15u);
   EXPECT_EQ(largest(nir_iand_imm(b, few, ~3u)), 12u);
   EXPECT_EQ(largest(nir_umod_imm(b, unknown, 12)), 11u);
   EXPECT_EQ(largest(nir_bcsel(b, nir_ieq_imm(b, unknown, 1), few, nir_imm_int(b, 20))), 20u);
}

TEST_F(IntegerRangesTest, UnknownOfWhatIsOrMayWrap)
{
   nir_def *many = nir_ushr_imm(b, unknown, 1);
   EXPECT_GE(largest(unknown), UINT32_MAX - 1); // the number of workgroups has 32 bits
   EXPECT_EQ(largest(nir_iadd_imm(b, nir_iand_imm(b, unknown, 15), -1)), UINT32_MAX);
   EXPECT_EQ(largest(nir_iadd(b, many, nir_iadd_imm(b, many, 2))), UINT32_MAX);
   EXPECT_EQ(largest(nir_ishl_imm(b, many, 2)), UINT32_MAX);
   EXPECT_GE(largest(nir_iand_imm(b, unknown, ~3u)), UINT32_MAX - 3);
   EXPECT_EQ(largest(nir_isub(b, nir_imm_int(b, 4), nir_iand_imm(b, unknown, 15))), UINT32_MAX);
   EXPECT_EQ(largest(nir_imul(b, many, many)), UINT32_MAX);
}

TEST_F(IntegerRangesTest, OfCounters)
{
   nir_def *zero = nir_imm_int(b, 0);
   const auto until = [&](int end) {
      return [=, this](nir_def *, nir_def *next) { return nir_uge(b, next, nir_imm_int(b, end)); };
   };
   EXPECT_EQ(of_counter(zero, 1, until(8), true), 4 * 7 + 100u);
   EXPECT_EQ(of_counter(zero, 3, until(8), true), 4 * 7 + 100u);
   EXPECT_EQ(of_counter(nir_imm_int(b, 20), 1, until(8), true), 4 * 20 + 100u);
   // If the loop's condition comes before the step, the counter's last value is one step higher.
   EXPECT_EQ(of_counter(
                zero, 2,
                [&](nir_def *now, nir_def *) { return nir_ige(b, now, nir_imm_int(b, 8)); }, false),
             4 * 9 + 100u);
}

TEST_F(IntegerRangesTest, UnknownOfCountersWithoutAnEnd)
{
   nir_def *zero = nir_imm_int(b, 0);
   const auto when = [&](const std::function<nir_def *(nir_def *)> &leaves, nir_def *begin,
                         int step) {
      return of_counter(begin, step, [&](nir_def *, nir_def *next) { return leaves(next); }, true);
   };
   EXPECT_EQ(when([&](nir_def *next) { return nir_uge(b, next, unknown); }, zero, 1), UINT32_MAX);
   EXPECT_EQ(when([&](nir_def *next) { return nir_ult(b, next, nir_imm_int(b, 8)); }, zero, 1),
             UINT32_MAX);
   EXPECT_EQ(when([&](nir_def *next) { return nir_uge(b, next, nir_imm_int(b, 8)); }, zero, -1),
             UINT32_MAX);
   EXPECT_EQ(when([&](nir_def *next) { return nir_uge(b, next, nir_imm_int(b, 8)); }, unknown, 1),
             UINT32_MAX);
   // A signed counter that starts at INT32_MAX wraps and never reaches the limit.
   EXPECT_EQ(when([&](nir_def *next) { return nir_ige(b, next, nir_imm_int(b, 8)); },
                  nir_imm_int(b, INT32_MAX), 1),
             UINT32_MAX);
   EXPECT_EQ(when([&](nir_def *next) { return nir_ieq_imm(b, next, 8); }, zero, 3), UINT32_MAX);
}

/// for (i = 0;; i++) { if (workgroup == 0) continue; if (i + 1 >= 8) break; break; }
TEST_F(IntegerRangesTest, UnknownWhereTheWayBackPassesNoLimit)
{
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "counter");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   nir_def *now = nir_load_var(b, counter), *next = nir_iadd_imm(b, now, 1);
   nir_def *value = nir_ishl_imm(b, now, 2);
   shader.store(0, value, value);
   nir_store_var(b, counter, next, 1);
   nir_if *again = nir_push_if(b, nir_ieq_imm(b, unknown, 0));
   nir_jump(b, nir_jump_continue);
   nir_pop_if(b, again);
   nir_break_if(b, nir_uge(b, next, nir_imm_int(b, 8)));
   nir_jump(b, nir_jump_break);
   nir_pop_loop(b, loop);
   nir_lower_vars_to_ssa(b->shader);
   EXPECT_EQ(largest(value), UINT32_MAX);
}

} // namespace
} // namespace weft::cpu::test
