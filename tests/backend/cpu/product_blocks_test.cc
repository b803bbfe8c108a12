// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/product_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

namespace weft::cpu {
namespace {

constexpr PlacedProduct far_reach = {1 << 20, 1 << 20, 1 << 20};

std::vector<PlacedProduct> products_of(const std::vector<PlacedProduct> &products,
                                       const ProductBlock &block)
{
   const PlacedProduct &first = products[block.first];
   std::vector<PlacedProduct> all;
   for (uint32_t i = 0; i < block.rows; i++)
      for (uint32_t j = 0; j < block.cols; j++)
         for (uint32_t k = 0; k < block.depth; k++)
            all.push_back({first.d + i * block.d_row + j * block.d_col,
                           first.a + i * block.a_row + k * block.a_step,
                           first.b + j * block.b_col + k * block.b_step});
   return all;
}

/// The products of a GEMM, k outermost.
std::vector<PlacedProduct> gemm(uint32_t rows, uint32_t cols, uint32_t depth)
{
   std::vector<PlacedProduct> products;
   for (uint32_t k = 0; k < depth; k++)
      for (uint32_t j = 0; j < cols; j++)
         for (uint32_t i = 0; i < rows; i++)
            products.push_back({(i * cols + j) * 1024, (k * rows + i) * 512, (k * cols + j) * 256});
   return products;
}

TEST(ProductBlocks, AreWholeGemms)
{
   for (const auto &[rows, cols, depth] :
        {std::tuple(4, 4, 2), {1, 4, 3}, {3, 1, 1}, {1, 1, 5}, {1, 1, 1}, {2, 3, 4}}) {
      const auto blocks = find_blocks(gemm(rows, cols, depth), far_reach);
      ASSERT_EQ(blocks.size(), 1u);
      EXPECT_EQ(blocks[0].rows, uint32_t(rows));
      EXPECT_EQ(blocks[0].cols, uint32_t(cols));
      EXPECT_EQ(blocks[0].depth, uint32_t(depth));
   }
}

/// A tile of A is where an earlier one was, so the steps along k differ.
TEST(ProductBlocks, KeepTheOrderOfASum)
{
   const std::vector<PlacedProduct> products = {
      {0, 0, 0}, {0, 512, 256}, {0, 0, 512}, {0, 512, 768}};
   std::vector<PlacedProduct> found;
   for (const ProductBlock &block : find_blocks(products, far_reach))
      std::ranges::copy(products_of(products, block), std::back_inserter(found));
   EXPECT_EQ(found, products);
}

TEST(ProductBlocks, StayWithinReach)
{
   const auto products = gemm(4, 4, 2);
   for (const ProductBlock &block : find_blocks(products, {2048, 1024, 512})) {
      for (const PlacedProduct &p : products_of(products, block)) {
         EXPECT_LE(p.d - products[block.first].d, 2048u);
         EXPECT_LE(p.a - products[block.first].a, 1024u);
         EXPECT_LE(p.b - products[block.first].b, 512u);
      }
   }
}

/// Random products: each is in one block, and each sum keeps its order.
TEST(ProductBlocks, AreAllProducts)
{
   std::mt19937 random(4711);
   const auto draw = [&] { return uint32_t(random() % 4); };
   for (int round = 0; round < 2000; round++) {
      std::vector<PlacedProduct> products;
      const uint32_t count = 1 + uint32_t(random() % 12);
      for (uint32_t i = 0; i < count; i++)
         products.push_back({draw() * 1024, draw() * 512, draw() * 256});
      std::vector<PlacedProduct> found;
      for (const ProductBlock &block : find_blocks(products, far_reach))
         std::ranges::copy(products_of(products, block), std::back_inserter(found));
      const auto sum = &PlacedProduct::d;
      std::ranges::stable_sort(products, {}, sum);
      std::ranges::stable_sort(found, {}, sum);
      ASSERT_EQ(found, products) << "round " << round;
   }
}

} // namespace
} // namespace weft::cpu
