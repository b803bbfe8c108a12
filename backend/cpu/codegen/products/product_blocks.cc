// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/product_blocks.h"

#include <algorithm>
#include <unordered_map>

namespace weft::cpu {

namespace {

/// Consecutive products of one sum, at equal distances.
struct Segment {
   uint32_t rank; ///< number of earlier segments of the sum
   PlacedProduct first, last;
   ProductBlock block;
   bool done = false;

   bool has_form_of(const Segment &other) const
   {
      return rank == other.rank && block.depth == other.block.depth &&
             block.a_step == other.block.a_step && block.b_step == other.block.b_step;
   }
};

std::vector<Segment> find_segments(const std::vector<PlacedProduct> &products,
                                   const PlacedProduct &reach)
{
   std::vector<Segment> segments;
   std::unordered_map<uint32_t, size_t> last_of_sum;
   for (uint32_t i = 0; i < products.size(); i++) {
      const PlacedProduct &p = products[i];
      const auto [at, is_new] = last_of_sum.try_emplace(p.d, segments.size());
      uint32_t rank = 0;
      if (!is_new) {
         Segment &s = segments[at->second];
         const uint32_t a_step = p.a - s.last.a, b_step = p.b - s.last.b;
         // Distances that wrap exceed any reach.
         if (p.a - s.first.a <= reach.a && p.b - s.first.b <= reach.b && a_step <= reach.a &&
             b_step <= reach.b &&
             (s.block.depth == 1 || (a_step == s.block.a_step && b_step == s.block.b_step))) {
            s.block.depth++;
            s.block.a_step = a_step;
            s.block.b_step = b_step;
            s.last = p;
            continue;
         }
         rank = s.rank + 1;
         at->second = segments.size();
      }
      segments.push_back({rank, p, p, {.first = i}});
   }
   // Stable: keeps the order of each sum's segments.
   std::ranges::stable_sort(segments, {}, &Segment::rank);
   return segments;
}

class BlockFinder {
public:
   BlockFinder(std::vector<Segment> segments, const PlacedProduct &reach)
       : segments(std::move(segments)), reach(reach)
   {
   }

   std::vector<ProductBlock> find()
   {
      std::vector<ProductBlock> blocks;
      for (const Segment &segment : segments) {
         if (!segment.done)
            blocks.push_back(grow(segment));
      }
      return blocks;
   }

private:
   ProductBlock grow(const Segment &origin)
   {
      ProductBlock block = origin.block;
      for (const Segment &s : segments) {
         if (s.done || !s.has_form_of(origin) || s.first.d <= origin.first.d)
            continue;
         if (!block.a_row && s.first.b == origin.first.b && s.first.a > origin.first.a) {
            block.a_row = s.first.a - origin.first.a;
            block.d_row = s.first.d - origin.first.d;
         }
         if (!block.b_col && s.first.a == origin.first.a && s.first.b > origin.first.b) {
            block.b_col = s.first.b - origin.first.b;
            block.d_col = s.first.d - origin.first.d;
         }
      }
      if (block.a_row) {
         while (is_within_reach(block, block.rows, 0) && sum_at(origin, block, block.rows, 0))
            block.rows++;
      }
      if (block.b_col) {
         while (has_column(origin, block, block.cols))
            block.cols++;
      }
      for (uint32_t i = 0; i < block.rows; i++) {
         for (uint32_t j = 0; j < block.cols; j++)
            sum_at(origin, block, i, j)->done = true;
      }
      return block;
   }

   bool has_column(const Segment &origin, const ProductBlock &block, uint32_t j)
   {
      for (uint32_t i = 0; i < block.rows; i++) {
         if (!is_within_reach(block, i, j) || !sum_at(origin, block, i, j))
            return false;
      }
      return true;
   }

   bool is_within_reach(const ProductBlock &block, uint32_t i, uint32_t j) const
   {
      const uint64_t steps = block.depth - 1, a = i * uint64_t(block.a_row) + steps * block.a_step,
                     b = j * uint64_t(block.b_col) + steps * block.b_step,
                     d = i * uint64_t(block.d_row) + j * uint64_t(block.d_col);
      return a <= reach.a && b <= reach.b && d <= reach.d;
   }

   /// The segment of sum (i, j), if no block contains it yet.
   Segment *sum_at(const Segment &origin, const ProductBlock &block, uint32_t i, uint32_t j)
   {
      const auto found = std::ranges::find_if(segments, [&](const Segment &s) {
         return !s.done && s.has_form_of(origin) &&
                s.first.d == origin.first.d + i * block.d_row + j * block.d_col &&
                s.first.a == origin.first.a + i * block.a_row &&
                s.first.b == origin.first.b + j * block.b_col;
      });
      return found == segments.end() ? nullptr : &*found;
   }

   std::vector<Segment> segments;
   const PlacedProduct reach;
};

} // namespace

std::vector<ProductBlock> find_blocks(const std::vector<PlacedProduct> &products,
                                      const PlacedProduct &reach)
{
   return BlockFinder(find_segments(products, reach), reach).find();
}

} // namespace weft::cpu
