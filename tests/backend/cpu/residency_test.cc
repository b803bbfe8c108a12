// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/residency.h"

#include "tests/backend/cpu/seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weft::cpu {
namespace {

constexpr uint64_t base = uint64_t(5) << 40; ///< no address of this process

bool is_resident(uint64_t start, uint32_t bytes)
{
   const uint32_t operands[] = {uint32_t(start), uint32_t(start >> 32), bytes};
   uint32_t result = 7;
   find_residency(1, 1, operands, &result);
   EXPECT_LE(result, 1u);
   return result;
}

TEST(Residency, OfRandomRanges)
{
   std::mt19937_64 random(test::test_seed());
   constexpr uint32_t units = 64;
   std::vector<bool> bound(units, true);
   for (int round = 0; round < 2000; ++round) {
      const auto first = uint32_t(random() % units),
                 count = 1 + uint32_t(random() % (units - first));
      const bool is_bound = random() % 2;
      ASSERT_TRUE((is_bound ? mark_bound : mark_unbound)(base + first, count));
      std::fill_n(bound.begin() + first, count, is_bound);
      for (uint32_t at = 0; at < units; ++at) {
         const uint32_t bytes = 1 + uint32_t(random() % std::min(units - at, 16u));
         const bool expected =
            std::all_of(bound.begin() + at, bound.begin() + at + bytes, [](bool is) { return is; });
         ASSERT_EQ(is_resident(base + at, bytes), expected) << at << ", " << bytes;
      }
   }
   EXPECT_TRUE(is_resident(base - 9, 9));
   EXPECT_TRUE(is_resident(base + units, 16));
   mark_bound(base, units);
   EXPECT_TRUE(is_resident(base, units));
}

/// Only active lanes have results.
TEST(Residency, OfLanes)
{
   mark_unbound(base + 4096, 4096);
   const uint32_t low[] = {0, 4095, 4096, 8191},
                  operands[] = {low[0], low[1], low[2], low[3], 5 << 8, 5 << 8,
                                5 << 8, 5 << 8, 4,      2,      1,      1};
   uint32_t results[] = {9, 9, 9, 9};
   find_residency(0b1011, 4, operands, results);
   EXPECT_EQ(results[0], 1u);
   EXPECT_EQ(results[1], 0u);
   EXPECT_EQ(results[2], 9u);
   EXPECT_EQ(results[3], 0u);
   mark_bound(base + 4096, 4096);
}

} // namespace
} // namespace weft::cpu
