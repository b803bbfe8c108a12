// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/choose_native_shape.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace weft {

namespace {

bool is_operand(const glsl_cmat_description &desc)
{
   return desc.use == GLSL_CMAT_USE_A || desc.use == GLSL_CMAT_USE_B;
}

bool has_operand(const NativeTiles &tiles, const glsl_cmat_description &desc)
{
   return std::ranges::any_of(tiles.operations, [&](const MatrixOperation &op) {
      return tiles.are_private() ? has_operand_of_any_sign(op, desc) : has_operand(op, desc);
   });
}

bool is_native(const NativeTiles &tiles, const MatrixOperation &op)
{
   return std::ranges::find(tiles.operations, op) != tiles.operations.end();
}

uint32_t round_up(uint32_t n, uint32_t unit)
{
   return (n + unit - 1) / unit * unit;
}

class Search {
public:
   Search(const CmatUses &uses, const NativeTiles &tiles, bool pad)
       : uses(uses), tiles(tiles), pad(pad)
   {
   }

   std::optional<NativeShape> run() const
   {
      std::optional<NativeShape> best;
      uint64_t best_size = 0;
      for (const auto &[m, n] : sizes()) {
         NativeShape shape = {m, n, {}};
         const auto accumulators_fit = [&](const glsl_cmat_description &desc) {
            return is_operand(desc) || fits(desc, shape);
         };
         if (!std::ranges::all_of(uses.matrices, accumulators_fit) || !choose_k(shape) ||
             !conversions_fit(shape))
            continue;
         uint64_t size = 0;
         for (const glsl_cmat_description &desc : uses.matrices)
            size += padded_size(desc, shape);
         if (!best || size < best_size) {
            best = shape;
            best_size = size;
         }
      }
      return best;
   }

private:
   struct TileSize {
      uint32_t m, n;
      bool operator==(const TileSize &) const = default;
   };

   /// The sizes of native accumulators, the largest first. Hundreds of operations have few sizes.
   std::vector<TileSize> sizes() const
   {
      std::vector<TileSize> list;
      for (const MatrixOperation &op : tiles.operations) {
         if (const TileSize size = {op.m, op.n}; std::ranges::find(list, size) == list.end())
            list.push_back(size);
      }
      std::ranges::stable_sort(list, std::greater(), [](const TileSize &s) { return s.m * s.n; });
      return list;
   }

   bool fits(const glsl_cmat_description &desc, const NativeShape &shape) const
   {
      const glsl_cmat_description tile = shape.tile(desc);
      return tile.rows && tile.cols &&
             (pad || (desc.rows % tile.rows == 0 && desc.cols % tile.cols == 0)) &&
             has_operand(tiles, tile);
   }

   /// Elements, with the padding.
   static uint64_t padded_size(const glsl_cmat_description &desc, const NativeShape &shape)
   {
      const glsl_cmat_description tile = shape.tile(desc);
      return uint64_t(round_up(desc.rows, tile.rows)) * round_up(desc.cols, tile.cols);
   }

   /// For each size of components, the K with the least padding, and among these the largest.
   bool choose_k(NativeShape &shape) const
   {
      std::set<uint32_t, std::greater<>> candidates;
      for (const MatrixOperation &op : tiles.operations)
         candidates.insert(op.k);
      for (unsigned bits : {8, 16, 32, 64}) {
         std::vector<glsl_cmat_description> operands;
         std::ranges::copy_if(uses.matrices, std::back_inserter(operands), [&](const auto &desc) {
            return is_operand(desc) && component_bits(desc) == bits;
         });
         if (operands.empty())
            continue;
         uint32_t &k = shape.k[size_class(bits)];
         uint32_t best = 0;
         uint64_t best_size = 0;
         for (uint32_t candidate : candidates) {
            k = candidate;
            if (!operands_fit(operands, shape, bits))
               continue;
            uint64_t size = 0;
            for (const glsl_cmat_description &desc : operands)
               size += padded_size(desc, shape);
            if (best == 0 || size < best_size) {
               best = candidate;
               best_size = size;
            }
         }
         k = best;
         if (best == 0)
            return false;
      }
      return true;
   }

   bool operands_fit(const std::vector<glsl_cmat_description> &operands, const NativeShape &shape,
                     unsigned bits) const
   {
      if (!std::ranges::all_of(operands, [&](const auto &desc) { return fits(desc, shape); }))
         return false;
      const uint32_t k = shape.k[size_class(bits)];
      for (const MatrixOperation &op : uses.operations) {
         if (component_bits(op.a) != bits && component_bits(op.b) != bits)
            continue;
         MatrixOperation tile = op;
         tile.m = shape.m;
         tile.n = shape.n;
         tile.k = k;
         if (component_bits(op.a) != component_bits(op.b) || !is_native(tiles, tile) ||
             (op.k > k && !can_be_cut(tile)))
            return false;
      }
      return true;
   }

   bool conversions_fit(const NativeShape &shape) const
   {
      return tiles.are_private() ||
             std::ranges::all_of(uses.conversions, [&](const CmatConversion &conversion) {
                const glsl_cmat_description from = shape.tile(conversion.from),
                                            to = shape.tile(conversion.to);
                return from.rows == to.rows && from.cols == to.cols;
             });
   }

   /// Whether a sum over K may be the sum of products of these tiles.
   bool can_be_cut(MatrixOperation tile) const
   {
      const bool rounded = rounds_sums(tile);
      if (!rounded && !tile.saturating)
         return true;
      if (rounded)
         tile.c = tile.result = ComponentType::f32;
      tile.saturating = false;
      return tiles.are_private() && is_native(tiles, tile);
   }

   const CmatUses &uses;
   const NativeTiles &tiles;
   const bool pad;
};

} // namespace

bool are_native(const CmatUses &uses, const NativeTiles &tiles)
{
   return std::ranges::all_of(uses.matrices,
                              [&](const auto &desc) { return has_operand(tiles, desc); }) &&
          std::ranges::all_of(uses.operations,
                              [&](const auto &op) { return is_native(tiles, op); });
}

glsl_cmat_description NativeShape::tile(const glsl_cmat_description &matrix) const
{
   glsl_cmat_description t = matrix;
   if (matrix.use == GLSL_CMAT_USE_NONE)
      return t;
   const uint32_t k_here = k[size_class(component_bits(matrix))];
   t.rows = matrix.use == GLSL_CMAT_USE_B ? k_here : m;
   t.cols = matrix.use == GLSL_CMAT_USE_A ? k_here : n;
   return t;
}

std::string describe(const NativeShape &shape)
{
   std::string text = std::to_string(shape.m) + "x" + std::to_string(shape.n);
   const char *separator = ", k ";
   for (unsigned i = 0; i < shape.k.size(); ++i) {
      if (!shape.k[i])
         continue;
      text += separator + std::to_string(shape.k[i]) + " of " + std::to_string(8u << i) + " bits";
      separator = ", ";
   }
   return text;
}

std::optional<NativeShape> choose_native_shape(const CmatUses &uses, const NativeTiles &tiles)
{
   const std::optional<NativeShape> exact = Search(uses, tiles, false).run();
   return exact || !tiles.are_private() ? exact : Search(uses, tiles, true).run();
}

} // namespace weft
