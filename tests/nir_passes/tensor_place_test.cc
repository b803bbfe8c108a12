// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/tensor_place.h"

#include "tests/nir_passes/mutants.h"
#include "tests/nir_passes/shaders.h"
#include "tests/oracle/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace weft {
namespace {

constexpr uint32_t rows = 12, cols = 16;

/// An access, and the same access for the oracle.
struct Case {
   oracle::TensorLayout layout;
   oracle::TensorView view;
   bool has_view;
   oracle::Access access;
};

class Random {
public:
   explicit Random(uint32_t seed) : engine(seed) {}

   uint32_t between(uint32_t least, uint32_t most)
   {
      return std::uniform_int_distribution<uint32_t>(least, most)(engine);
   }
   bool coin() { return between(0, 1) == 1; }

   oracle::Numbers numbers(uint32_t count, uint32_t least, uint32_t most)
   {
      oracle::Numbers list(count);
      std::ranges::generate(list, [&] { return between(least, most); });
      return list;
   }

   oracle::Numbers permutation(uint32_t count)
   {
      oracle::Numbers list(count);
      std::iota(list.begin(), list.end(), 0u);
      std::ranges::shuffle(list, engine);
      return list;
   }

private:
   std::mt19937 engine;
};

oracle::TensorLayout random_layout(Random &random)
{
   const auto clamp = oracle::Clamp(random.between(0, 4));
   oracle::TensorLayout layout(random.between(1, 5), clamp);
   layout.set_block_size(random.numbers(layout.dim, 1, 4));
   /* A dimension of 1, whose mirrored coordinate is undefined, is left to the end-to-end tests. */
   layout.set_dimension(random.numbers(layout.dim, 2, 40));
   if (random.coin())
      layout.set_stride(random.numbers(layout.dim, 0, 1000));
   oracle::Numbers offsets(layout.dim), spans(layout.dim);
   for (uint32_t i = 0; i < layout.dim; ++i) {
      const uint32_t size = layout.dimension[i];
      spans[i] = random.coin() ? std::min(size, i + 1 == layout.dim ? cols : rows)
                               : random.between(1, size);
      /* An access that does not clamp may not leave the tensor. */
      offsets[i] = clamp == oracle::Clamp::undefined ? random.between(0, size - spans[i])
                                                     : random.between(0, 3 * size) - size;
   }
   layout.slice(offsets, spans);
   return layout;
}

oracle::TensorView random_view(Random &random, const oracle::TensorLayout &layout)
{
   const bool has_dimensions = random.coin();
   const uint32_t dim = random.between(1, has_dimensions ? 5 : layout.dim);
   oracle::TensorView view(dim, has_dimensions, random.permutation(dim));
   if (has_dimensions) {
      view.set_dimension(random.numbers(dim, 1, 20));
      if (random.coin())
         view.stride = random.numbers(dim, 0, 100);
   }
   if (random.coin()) {
      view.clip_row_offset = random.between(0, rows);
      view.clip_row_span = random.between(0, rows);
      view.clip_col_offset = random.between(0, cols);
      view.clip_col_span = random.between(1, cols);
   }
   return view;
}

Case random_case(Random &random)
{
   const oracle::TensorLayout layout = random_layout(random);
   const bool has_view = random.coin();
   oracle::Numbers identity(layout.dim);
   std::iota(identity.begin(), identity.end(), 0u);
   return {layout,
           has_view ? random_view(random, layout) : oracle::TensorView(layout.dim, false, identity),
           has_view, random.coin() ? oracle::Access::load : oracle::Access::store};
}

SpvTensorClampMode clamp_mode(oracle::Clamp clamp)
{
   switch (clamp) {
   case oracle::Clamp::undefined:
      return SpvTensorClampModeUndefined;
   case oracle::Clamp::constant:
      return SpvTensorClampModeConstant;
   case oracle::Clamp::edge:
      return SpvTensorClampModeClampToEdge;
   case oracle::Clamp::repeat:
      return SpvTensorClampModeRepeat;
   case oracle::Clamp::mirror:
      return SpvTensorClampModeRepeatMirrored;
   }
   return {};
}

/// A place as constants.
class Places : test::Built {
public:
   oracle::TensorPlace of(const Case &c, uint32_t row, uint32_t col)
   {
      const TensorAddressing a = addressing(c);
      nir_def *r = number(row), *s = number(col);
      const TensorPlace place = tensor_place(&b, a, r, s);
      std::vector<nir_def *> defs = {
         nir_b2i32(&b, is_clipped(&b, a, r, s)),
         place.is_inside ? nir_b2i32(&b, place.is_inside) : number(1),
         place.index,
      };
      const uint32_t dim = c.layout.dim;
      defs.insert(defs.end(), place.block.begin(), place.block.begin() + dim);
      defs.insert(defs.end(), place.in_block.begin(), place.in_block.begin() + dim);
      const std::vector<uint32_t> list = values(defs);
      if (list[0])
         return oracle::Clipped{};
      if (!list[1])
         return oracle::Constant{};
      const auto block = list.begin() + 3;
      return oracle::InMemory{list[2], {block, block + dim}, {block + dim, list.end()}};
   }

   bool is_unclipped(const Case &c)
   {
      const TensorAddressing a = addressing(c);
      const bool is_so = values({nir_b2i32(&b, weft::is_unclipped(&b, a))})[0];
      EXPECT_EQ(is_never_clipped(a), is_so);
      return is_so;
   }

private:
   nir_def *number(uint32_t n) { return nir_imm_int(&b, int(n)); }

   TensorNumbers numbers(const auto &list)
   {
      TensorNumbers defs = {};
      for (size_t i = 0; i < list.size(); ++i)
         defs[i] = number(uint32_t(list[i]));
      return defs;
   }

   TensorAddressing addressing(const Case &c)
   {
      TensorAddressing a = {};
      a.is_store = c.access == oracle::Access::store;
      a.matrix.rows = rows;
      a.matrix.cols = cols;
      a.layout = {c.layout.dim,
                  clamp_mode(c.layout.clamp),
                  numbers(c.layout.block_size),
                  numbers(c.layout.dimension),
                  numbers(c.layout.stride),
                  numbers(c.layout.offset),
                  numbers(c.layout.span),
                  number(0)};
      a.view.dim = c.view.dim;
      a.view.has_dimensions = c.view.has_dimensions;
      std::ranges::copy(c.view.permutation, a.view.permutation.begin());
      a.view.dimension = numbers(c.view.dimension);
      a.view.stride = numbers(c.view.stride);
      a.view.clip = {number(c.view.clip_row_offset), number(c.view.clip_row_span),
                     number(c.view.clip_col_offset), number(c.view.clip_col_span)};
      return a;
   }

   /// The values of these instructions, which folding removes.
   std::vector<uint32_t> values(const std::vector<nir_def *> &defs)
   {
      std::vector<nir_intrinsic_instr *> stores;
      for (nir_def *def : defs)
         stores.push_back(nir_store_shared(&b, def, nir_imm_int(&b, 0)));
      nir_opt_constant_folding(b.shader);
      std::vector<uint32_t> list;
      for (nir_intrinsic_instr *store : stores) {
         EXPECT_TRUE(nir_src_is_const(store->src[0]));
         list.push_back(nir_src_is_const(store->src[0]) ? uint32_t(nir_src_as_uint(store->src[0]))
                                                        : 0);
      }
      return list;
   }
};

void expect_same(const oracle::TensorPlace &place, const oracle::TensorPlace &expected)
{
   ASSERT_EQ(place.index(), expected.index());
   const auto *found = std::get_if<oracle::InMemory>(&place),
              *right = std::get_if<oracle::InMemory>(&expected);
   if (!found)
      return;
   EXPECT_EQ(found->index, right->index);
   EXPECT_EQ(found->block, right->block);
   EXPECT_EQ(found->in_block, right->in_block);
}

TEST(TensorPlace, AgreesWithTheOracle)
{
   const uint32_t seed = test::mutation_seed();
   Random random(seed);
   for (unsigned i = 0; i < 400; ++i) {
      const Case c = random_case(random);
      for (unsigned j = 0; j < 8; ++j) {
         const uint32_t row = random.between(0, rows - 1), col = random.between(0, cols - 1);
         SCOPED_TRACE(testing::Message()
                      << "seed " << seed << ", case " << i << ", element " << row << ", " << col);
         const oracle::TensorPlace expected = oracle::tensor_place(
            c.layout, c.has_view ? &c.view : nullptr, c.access, row, col, cols);
         Places places;
         expect_same(places.of(c, row, col), expected);
      }
   }
}

TEST(TensorPlace, TellsWhetherAClipLeavesElementsOut)
{
   Random random(test::mutation_seed());
   Case c = random_case(random);
   c.view.clip_row_offset = c.view.clip_col_offset = 0;
   for (const uint32_t height : {rows - 1, rows, ~0u}) {
      for (const uint32_t width : {cols - 1, cols, ~0u}) {
         c.view.clip_row_span = height;
         c.view.clip_col_span = width;
         Places places;
         EXPECT_EQ(places.is_unclipped(c), height >= rows && width >= cols);
      }
   }
   c.view.clip_col_offset = 1;
   Places places;
   EXPECT_FALSE(places.is_unclipped(c));
}

} // namespace
} // namespace weft
