// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/register_map.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

namespace weft {
namespace {

using Use = RegisterMap::Use;

TEST(RegisterMap, FollowsTheDrawing)
{
   constexpr RegisterMap c = {8, 8, Use::accumulator, 16}, a = {8, 8, Use::a, 16},
                         b = {8, 8, Use::b, 16};
   static_assert(c.length() == 4 && a.length() == 16 && b.length() == 16);
   static_assert(c.element(1u, 3u) == RegisterMap::Element{1, 3});
   static_assert(c.element(4u, 0u) == RegisterMap::Element{2, 0});
   static_assert(a.element(2u, 8u) == RegisterMap::Element{1, 0});
   static_assert(a.element(7u, 8u) == RegisterMap::Element{3, 0});
   static_assert(b.element(5u, 2u) == RegisterMap::Element{1, 2});
   static_assert(a.stores(4) && !a.stores(5) && b.stores(3) && !b.stores(4));
}

TEST(RegisterMap, LanesOfAVectorHaveAllOfA)
{
   constexpr RegisterMap c = {16, 8, Use::accumulator, 8}, a = {16, 8, Use::a, 8},
                         b = {8, 8, Use::b, 8};
   static_assert(c.length() == 16 && a.length() == 16 * 8 && b.length() == 8);
   static_assert(c.element(3u, 5u) == RegisterMap::Element{5, 3});
   static_assert(a.element(3u, 9u) == a.element(0u, 9u));
   static_assert(b.element(3u, 5u) == RegisterMap::Element{5, 3});
}

class Registers : public testing::TestWithParam<std::tuple<uint32_t, uint32_t, uint32_t>> {
protected:
   void for_each_use(auto body)
   {
      const auto [rows, cols, subgroup_size] = GetParam();
      for (Use use : {Use::a, Use::b, Use::accumulator})
         body(RegisterMap{rows, cols, use, subgroup_size});
   }
};

TEST_P(Registers, EveryElementIsStoredOnce)
{
   for_each_use([](const RegisterMap &map) {
      std::map<RegisterMap::Element, uint32_t> stored;
      for (uint32_t invocation = 0; invocation < map.subgroup_size; ++invocation) {
         for (uint32_t component = 0; component < map.length(); ++component) {
            const RegisterMap::Element e = map.element(invocation, component);
            EXPECT_LT(e.row, map.rows);
            EXPECT_LT(e.col, map.cols);
            stored[e] += map.stores(invocation);
         }
      }
      EXPECT_EQ(stored.size(), map.rows * map.cols);
      for (const auto &[element, times] : stored)
         EXPECT_EQ(times, 1u) << element.row << ", " << element.col;
   });
}

TEST_P(Registers, OwnersHoldTheirElements)
{
   for_each_use([](const RegisterMap &map) {
      for (uint32_t row = 0; row < map.rows; ++row) {
         for (uint32_t col = 0; col < map.cols; ++col) {
            const RegisterMap::Element e = {row, col};
            const auto owner = map.owner(e);
            EXPECT_EQ(map.element(owner.invocation, owner.component), e);
            EXPECT_TRUE(map.stores(owner.invocation));
            for (uint32_t invocation = 0; invocation < map.subgroup_size; ++invocation)
               EXPECT_EQ(map.holds(invocation, e), map.element(invocation, owner.component) == e);
         }
      }
   });
}

TEST_P(Registers, AMultiplicationNeedsNobodyElse)
{
   const auto [rows, cols, subgroup_size] = GetParam();
   const RegisterMap a = {rows, 4, Use::a, subgroup_size}, b = {4, cols, Use::b, subgroup_size},
                     c = {rows, cols, Use::accumulator, subgroup_size};
   for (uint32_t invocation = 0; invocation < subgroup_size; ++invocation) {
      for (uint32_t i = 0; i < c.length(); ++i) {
         const uint32_t row = i / c.block_cols(), col = i % c.block_cols();
         for (uint32_t k = 0; k < 4; ++k) {
            EXPECT_EQ(a.element(invocation, row * 4 + k),
                      (RegisterMap::Element{c.element(invocation, i).row, k}));
            EXPECT_EQ(b.element(invocation, k * b.block_cols() + col),
                      (RegisterMap::Element{k, c.element(invocation, i).col}));
         }
      }
   }
}

INSTANTIATE_TEST_SUITE_P(RegisterMap, Registers,
                         testing::Combine(testing::Values(8, 16, 32), testing::Values(8, 16, 32),
                                          testing::Values(4, 8, 16, 32, 64, 128)));
INSTANTIATE_TEST_SUITE_P(Uneven, Registers,
                         testing::Combine(testing::Values(3, 6), testing::Values(5, 12),
                                          testing::Values(4, 32)));

} // namespace
} // namespace weft
