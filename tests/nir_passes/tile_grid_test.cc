// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/tile_grid.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

using Size = TileGrid::Size;
using Position = TileGrid::Position;

TEST(TileGrid, FollowsTheDrawing)
{
   constexpr TileGrid g = {{20, 12}, {8, 8}};
   static_assert(g.rows() == 3 && g.cols() == 2 && g.tiles() == 6);
   static_assert(g.extent({0, 0}) == Size{8, 8} && g.extent({1, 1}) == Size{8, 4});
   static_assert(g.extent({2, 0}) == Size{4, 8} && g.extent({2, 1}) == Size{4, 4});
   static_assert(g.pads_rows() && g.pads_cols());
   static_assert(!g.is_padded({8, 8}) && g.is_padded({8, 4}) && g.is_padded({4, 8}));
   static_assert(g.position(3) == Position{1, 1} && g.position(3, true) == Position{0, 1});
   static_assert(g.stacked(6) == Size{48, 8});
}

TEST(TileGrid, AWholeNumberOfTilesHasNoPadding)
{
   constexpr TileGrid g = {{16, 32}, {8, 16}};
   static_assert(g.rows() == 2 && g.cols() == 2);
   static_assert(!g.pads_rows() && !g.pads_cols());
   for (uint32_t i = 0; i < g.tiles(); ++i)
      EXPECT_FALSE(g.is_padded(g.extent(g.position(i))));
}

/// Every size up to three tiles and a part.
template <typename Body>
void for_each_grid(const Body &body)
{
   for (uint32_t rows = 1; rows <= 14; ++rows) {
      for (uint32_t cols = 1; cols <= 14; ++cols)
         body(TileGrid{{rows, cols}, {4, 5}});
   }
}

TEST(TileGrid, BothOrdersVisitEveryTileOnce)
{
   for_each_grid([](const TileGrid &g) {
      for (const bool by_columns : {false, true}) {
         std::vector<uint32_t> visits(g.tiles());
         for (uint32_t i = 0; i < g.tiles(); ++i) {
            const Position p = g.position(i, by_columns);
            ASSERT_LT(p.row, g.rows());
            ASSERT_LT(p.col, g.cols());
            ++visits[p.row * g.cols() + p.col];
         }
         EXPECT_EQ(visits, std::vector<uint32_t>(g.tiles(), 1));
      }
   });
}

TEST(TileGrid, ExtentsCoverTheMatrix)
{
   for_each_grid([](const TileGrid &g) {
      uint32_t area = 0;
      for (uint32_t i = 0; i < g.tiles(); ++i)
         area += g.extent(g.position(i)).area();
      EXPECT_EQ(area, g.matrix.area());
   });
}

TEST(TileGrid, RegionsHaveEachTileOnceWithItsExtent)
{
   for_each_grid([](const TileGrid &g) {
      std::vector<uint32_t> visits(g.tiles());
      for (const TileGrid::Region &region : g.regions()) {
         for (uint32_t row = 0; row < region.count.rows; ++row) {
            for (uint32_t col = 0; col < region.count.cols; ++col) {
               const Position p = {region.first.row + row, region.first.col + col};
               EXPECT_EQ(g.extent(p), region.extent);
               ++visits.at(p.row * g.cols() + p.col);
            }
         }
      }
      EXPECT_EQ(visits, std::vector<uint32_t>(g.tiles(), 1));
   });
}

/// A run of 8 elements in each row of 8 tiles of 4×8.
TEST(TileGrid, StacksGiveEveryInvocationARun)
{
   constexpr TileGrid g = {{16, 16}, {4, 8}};
   static_assert(g.stack_for_runs(4, 8) == 1 && g.stack_for_runs(5, 8) == 2);
   static_assert(g.stack_for_runs(16, 8) == 4 && g.stack_for_runs(32, 8) == 8);
   /* There are no more tiles. */
   static_assert(g.stack_for_runs(64, 8) == 8);
   /* Six tiles are three stacks of two. */
   static_assert(TileGrid{{12, 16}, {4, 8}}.stack_for_runs(64, 8) == 2);
   static_assert(TileGrid{{12, 8}, {4, 8}}.stack_for_runs(64, 8) == 1);
}

} // namespace
} // namespace weft
