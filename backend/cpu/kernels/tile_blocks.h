// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Walks over the sums of a TileBlock, for inclusion by the files of the instruction sets.

#pragma once

#include "backend/cpu/kernels/tile_muladd.h"

namespace weft::cpu {
namespace {

/// Tiles side by side along n that a kernel adds up at once.
template <int Count>
struct Columns {
   static constexpr int count = Count;
};

/// Calls use(Columns<…>, d, a, b, c) for all sums of a block, with the first product's tiles: along
/// n for `At` tiles at a time, then for one. Rows are the inner loop, as blocks have fewer rows:
/// their part of A stays in the first-level cache, and B goes through it once.
template <int At, typename Use>
[[gnu::always_inline]] inline void for_each_sum(void *d, const void *a, const void *b,
                                                const void *c, const TileBlock &block, Use use)
{
   auto *d_bytes = static_cast<char *>(d);
   const auto *a_bytes = static_cast<const char *>(a), *b_bytes = static_cast<const char *>(b),
              *c_bytes = static_cast<const char *>(c);
   for (uint32_t j = 0; j < block.cols;) {
      const uint32_t count = j + At <= block.cols ? At : 1;
      for (uint32_t i = 0; i < block.rows; i++) {
         const uint64_t sum = i * block.d_row + j * block.d_col;
         const auto use_next = [&](auto columns) __attribute__((always_inline)) {
            use(columns, d_bytes + sum, a_bytes + i * block.a_row, b_bytes + j * block.b_col,
                c_bytes + sum);
         };
         if (count == At)
            use_next(Columns<At>());
         else
            use_next(Columns<1>());
      }
      j += count;
   }
}

/// Tiles one below the other that a kernel adds up at once.
template <int Count>
struct RowsOfSums {};

/// Calls use(RowsOfSums<…>, d, a, b, c) for all sums of a block, two rows at a time, then one.
template <typename Use>
[[gnu::always_inline]] inline void for_each_two_rows(void *d, const void *a, const void *b,
                                                     const void *c, const TileBlock &block,
                                                     const Use &use)
{
   const auto use_rows = [&](auto rows, uint32_t i, uint32_t j) __attribute__((always_inline)) {
      const uint64_t sum = i * block.d_row + j * block.d_col;
      use(rows, static_cast<char *>(d) + sum, static_cast<const char *>(a) + i * block.a_row,
          static_cast<const char *>(b) + j * block.b_col, static_cast<const char *>(c) + sum);
   };
   for (uint32_t j = 0; j < block.cols; j++) {
      uint32_t i = 0;
      for (; i + 2 <= block.rows; i += 2)
         use_rows(RowsOfSums<2>(), i, j);
      if (i < block.rows)
         use_rows(RowsOfSums<1>(), i, j);
   }
}

/// The kernel of blocks that calls a kernel of single products.
template <auto Product>
void add_one_by_one(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<1>(d, a, b, c, *block,
                   [&](auto, void *d, const char *a, const char *b, const void *c) {
                      for (uint32_t k = 0; k < block->depth; k++, c = d)
                         Product(d, a + k * block->a_step, b + k * block->b_step, c);
                   });
}

/// The kernel of blocks of integers: a longer sum saturates after each product.
template <Accumulation Mode, auto Sums>
constexpr TileMulAdd sums_of_integers()
{
   constexpr auto single = [](void *d, const void *a, const void *b, const void *c) {
      const TileBlock one;
      Sums(d, a, b, c, &one);
   };
   return Mode == Accumulation::wrapping ? Sums : add_one_by_one<single>;
}

} // namespace
} // namespace weft::cpu
