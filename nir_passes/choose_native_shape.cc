// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/choose_native_shape.h"

#include <algorithm>
#include <bit>
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
   return desc.use != GLSL_CMAT_USE_ACCUMULATOR;
}

class Search {
public:
   Search(const CmatUses &uses, std::span<const MatrixOperation> native)
       : uses(uses), native(native)
   {
   }

   std::optional<NativeShape> run() const
   {
      for (const auto &[m, n] : sizes()) {
         NativeShape shape = {m, n, {}};
         const auto accumulators_fit = [&](const glsl_cmat_description &desc) {
            return is_operand(desc) || fits(desc, shape);
         };
         if (std::ranges::all_of(uses.matrices, accumulators_fit) && choose_k(shape))
            return shape;
      }
      return std::nullopt;
   }

private:
   struct Size {
      uint32_t m, n;
   };

   /// Of the native accumulators, the largest first.
   std::vector<Size> sizes() const
   {
      std::vector<Size> list;
      for (const MatrixOperation &op : native)
         list.push_back({op.m, op.n});
      std::ranges::stable_sort(list, std::greater(), [](const Size &s) { return s.m * s.n; });
      return list;
   }

   bool fits(const glsl_cmat_description &desc, const NativeShape &shape) const
   {
      const glsl_cmat_description tile = shape.tile(desc);
      return tile.rows && tile.cols && desc.rows % tile.rows == 0 && desc.cols % tile.cols == 0 &&
             std::ranges::any_of(native,
                                 [&](const MatrixOperation &op) { return has_operand(op, tile); });
   }

   /// For each size of components the largest that goes.
   bool choose_k(NativeShape &shape) const
   {
      std::vector<uint32_t> candidates;
      for (const MatrixOperation &op : native)
         candidates.push_back(op.k);
      std::ranges::sort(candidates, std::greater());
      for (unsigned bits : {8, 16, 32, 64}) {
         const bool used = std::ranges::any_of(uses.matrices, [&](const auto &desc) {
            return is_operand(desc) && component_bits(desc) == bits;
         });
         if (!used)
            continue;
         uint32_t &k = shape.k[size_class(bits)];
         const auto goes = [&](uint32_t candidate) {
            k = candidate;
            return operands_fit(shape, bits);
         };
         if (std::ranges::none_of(candidates, goes))
            return false;
      }
      return true;
   }

   bool operands_fit(const NativeShape &shape, unsigned bits) const
   {
      for (const glsl_cmat_description &desc : uses.matrices) {
         if (is_operand(desc) && component_bits(desc) == bits && !fits(desc, shape))
            return false;
      }
      const uint32_t k = shape.k[size_class(bits)];
      for (const MatrixOperation &op : uses.operations) {
         if (component_bits(op.a) != bits && component_bits(op.b) != bits)
            continue;
         const MatrixOperation tile = {shape.m, shape.n, k,         op.a,
                                       op.b,    op.c,    op.result, op.saturating};
         const bool whole = op.saturating || component_bits(op.result) < 32;
         if (component_bits(op.a) != component_bits(op.b) || (whole && op.k != k) ||
             std::ranges::find(native, tile) == native.end())
            return false;
      }
      return true;
   }

   const CmatUses &uses;
   const std::span<const MatrixOperation> native;
};

} // namespace

glsl_cmat_description NativeShape::tile(const glsl_cmat_description &matrix) const
{
   glsl_cmat_description t = matrix;
   const uint32_t k_here = k[size_class(component_bits(matrix))];
   t.rows = uint8_t(matrix.use == GLSL_CMAT_USE_B ? k_here : m);
   t.cols = uint8_t(matrix.use == GLSL_CMAT_USE_A ? k_here : n);
   return t;
}

std::optional<NativeShape> choose_native_shape(const CmatUses &uses,
                                               std::span<const MatrixOperation> native)
{
   return Search(uses, native).run();
}

} // namespace weft
