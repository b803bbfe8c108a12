// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/choose_native_shape.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <vector>

namespace weft {

namespace {

/// Where NativeShape::k has the K of components of 8, 16, 32 or 64 bits.
unsigned size_class(unsigned bits)
{
   return std::countr_zero(bits / 8);
}

bool is_operand(const glsl_cmat_description &desc)
{
   return desc.use == GLSL_CMAT_USE_A || desc.use == GLSL_CMAT_USE_B;
}

bool has_operand(const TileRules &rules, const glsl_cmat_description &desc)
{
   return std::ranges::any_of(rules.native, [&](const MatrixOperation &op) {
      return rules.any_sign ? has_operand_of_any_sign(op, desc) : has_operand(op, desc);
   });
}

uint32_t round_up(uint32_t n, uint32_t unit)
{
   return (n + unit - 1) / unit * unit;
}

class Search {
public:
   Search(const CmatUses &uses, const TileRules &rules, bool pad)
       : uses(uses), rules(rules), pad(pad)
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
   struct Size {
      uint32_t m, n;
      bool operator==(const Size &) const = default;
   };

   /// Of the native accumulators, the largest first.  There are few, of hundreds of operations.
   std::vector<Size> sizes() const
   {
      std::vector<Size> list;
      for (const MatrixOperation &op : rules.native) {
         if (const Size size = {op.m, op.n}; std::ranges::find(list, size) == list.end())
            list.push_back(size);
      }
      std::ranges::stable_sort(list, std::greater(), [](const Size &s) { return s.m * s.n; });
      return list;
   }

   bool fits(const glsl_cmat_description &desc, const NativeShape &shape) const
   {
      const glsl_cmat_description tile = shape.tile(desc);
      return tile.rows && tile.cols &&
             (pad || (desc.rows % tile.rows == 0 && desc.cols % tile.cols == 0)) &&
             has_operand(rules, tile);
   }

   /// Elements, with the padding.
   static uint64_t padded_size(const glsl_cmat_description &desc, const NativeShape &shape)
   {
      const glsl_cmat_description tile = shape.tile(desc);
      return uint64_t(round_up(desc.rows, tile.rows)) * round_up(desc.cols, tile.cols);
   }

   /// For each size of components the one with the least padding, and of these the largest.
   bool choose_k(NativeShape &shape) const
   {
      std::set<uint32_t, std::greater<>> candidates;
      for (const MatrixOperation &op : rules.native)
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
         if (component_bits(op.a) != component_bits(op.b) || !is_native(tile) ||
             (op.k > k && !can_be_cut(tile)))
            return false;
      }
      return true;
   }

   bool conversions_fit(const NativeShape &shape) const
   {
      return rules.knows_elements ||
             std::ranges::all_of(uses.conversions, [&](const CmatConversion &conversion) {
                const glsl_cmat_description from = shape.tile(conversion.from),
                                            to = shape.tile(conversion.to);
                return from.rows == to.rows && from.cols == to.cols;
             });
   }

   bool is_native(const MatrixOperation &op) const
   {
      return std::ranges::find(rules.native, op) != rules.native.end();
   }

   /// Whether a sum over K may be the sum of such tiles.
   bool can_be_cut(MatrixOperation tile) const
   {
      const bool rounded = rounds_sums(tile);
      if (!rounded && !tile.saturating)
         return true;
      if (rounded)
         tile.c = tile.result = ComponentType::f32;
      tile.saturating = false;
      return rules.may_widen && is_native(tile);
   }

   const CmatUses &uses;
   const TileRules &rules;
   const bool pad;
};

} // namespace

bool are_native(const CmatUses &uses, const TileRules &rules)
{
   const auto is_native = [&](const MatrixOperation &op) {
      return std::ranges::find(rules.native, op) != rules.native.end();
   };
   return std::ranges::all_of(uses.matrices,
                              [&](const auto &desc) { return has_operand(rules, desc); }) &&
          std::ranges::all_of(uses.operations, is_native);
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

std::optional<NativeShape> choose_native_shape(const CmatUses &uses, const TileRules &rules)
{
   const std::optional<NativeShape> exact = Search(uses, rules, false).run();
   return exact || !rules.may_pad ? exact : Search(uses, rules, true).run();
}

} // namespace weft
