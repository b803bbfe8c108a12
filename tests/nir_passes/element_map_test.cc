// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/element_map.h"

#include <gtest/gtest.h>
#include <set>

namespace weft {
namespace {

TEST(ElementMap, FollowsTheDrawing)
{
   constexpr ElementMap map = {8, 8, 16};
   static_assert(map.length() == 4);
   static_assert(map.owner({0, 0}) == ElementMap::Owner{0, 0});
   static_assert(map.owner({1, 7}) == ElementMap::Owner{15, 0});
   static_assert(map.owner({2, 0}) == ElementMap::Owner{0, 1});
   static_assert(map.element({9, 1}) == ElementMap::Element{3, 1});
}

class Shapes : public testing::TestWithParam<std::tuple<uint32_t, uint32_t, uint32_t>> {};

TEST_P(Shapes, EveryElementHasOneOwnerWhoKnowsIt)
{
   const auto [rows, cols, subgroup_size] = GetParam();
   const ElementMap map = {rows, cols, subgroup_size};
   std::set<std::pair<uint32_t, uint32_t>> owners;
   for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t col = 0; col < cols; ++col) {
         const ElementMap::Owner owner = map.owner({row, col});
         EXPECT_LT(owner.invocation, subgroup_size);
         EXPECT_LT(owner.component, map.length());
         EXPECT_EQ(map.element(owner), (ElementMap::Element{row, col}));
         EXPECT_TRUE(owners.emplace(owner.invocation, owner.component).second);
      }
   }
}

TEST_P(Shapes, ComponentsOutsideTheMatrixAreNotContained)
{
   const auto [rows, cols, subgroup_size] = GetParam();
   const ElementMap map = {rows, cols, subgroup_size};
   uint32_t inside = 0;
   for (uint32_t invocation = 0; invocation < subgroup_size; ++invocation) {
      for (uint32_t component = 0; component < map.length(); ++component)
         inside += map.contains(map.element({invocation, component}));
   }
   EXPECT_EQ(inside, rows * cols);
}

INSTANTIATE_TEST_SUITE_P(ElementMap, Shapes,
                         testing::Combine(testing::Values(8, 16, 32), testing::Values(8, 16, 32),
                                          testing::Values(8, 16, 32, 64)));
INSTANTIATE_TEST_SUITE_P(Uneven, Shapes,
                         testing::Combine(testing::Values(3, 5), testing::Values(3, 7),
                                          testing::Values(8, 16)));

} // namespace
} // namespace weft
