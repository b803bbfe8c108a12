// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/plan_products.h"

#include "backend/cpu/kernels/tile_kernels.h"

#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/cmat_uses.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace weft::cpu {

uint32_t tile_bytes(const glsl_cmat_description &desc)
{
   return uint32_t(desc.rows) * desc.cols * component_bits(desc) / 8;
}

namespace {

/// A tile's offset in a form that can be compared: a base plus a constant.
struct Offset {
   nir_scalar base;   ///< no def: zero
   uint32_t constant; ///< bytes of the whole subgroup

   Offset(const nir_src &src, uint32_t subgroup_size)
       : base(nir_scalar_resolved(src.ssa, 0)), constant(0)
   {
      // Offsets of shared tiles are computed with 32 bits (WEFT_SHARED_TILE_ADDRESS).
      if (nir_scalar_is_alu(base) && nir_scalar_alu_op(base) == nir_op_u2u64)
         base = nir_scalar_chase_movs(nir_scalar_chase_alu_src(base, 0));
      if (nir_scalar_is_alu(base) && nir_scalar_alu_op(base) == nir_op_iadd) {
         for (const unsigned i : {0u, 1u}) {
            const nir_scalar term = nir_scalar_chase_alu_src(base, i);
            if (nir_scalar_is_const(term)) {
               constant = uint32_t(nir_scalar_as_uint(term));
               base = nir_scalar_chase_alu_src(base, 1 - i);
               break;
            }
         }
      }
      if (nir_scalar_is_const(base)) {
         constant += uint32_t(nir_scalar_as_uint(base));
         base = {};
      }
      if (!weft_is_shared_tile(src))
         constant *= subgroup_size;
   }

   bool has_base_of(const Offset &other) const
   {
      return base.def == other.base.def && (!base.def || base.comp == other.base.comp);
   }
   /// The distance between offsets with the same base.
   uint32_t distance(const Offset &other) const { return distance(other.constant); }
   uint32_t distance(uint32_t other) const { return std::min(constant - other, other - constant); }
   bool operator==(const Offset &other) const
   {
      return has_base_of(other) && constant == other.constant;
   }
};

/// The next multiplication, if only arithmetic lies between the two.
const nir_intrinsic_instr *next_product(const nir_intrinsic_instr *product)
{
   for (const nir_instr *next = &product->instr;;) {
      next = nir_instr_next(const_cast<nir_instr *>(next));
      if (!next)
         return nullptr;
      if (next->type == nir_instr_type_alu || next->type == nir_instr_type_load_const)
         continue;
      if (next->type != nir_instr_type_intrinsic)
         return nullptr;
      const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(const_cast<nir_instr *>(next));
      return intr->intrinsic == nir_intrinsic_tile_muladd_weft ? intr : nullptr;
   }
}

/// A C that one kernel call computes: one product, or several in order. In the latter case all
/// products but the last leave a sum that is wider than C and D and has no other uses
/// (split_cmat_shapes.h).
struct Sum {
   std::vector<const nir_intrinsic_instr *> products;

   const nir_src &a() const { return products.front()->src[1]; }
   const nir_src &b() const { return products.front()->src[2]; }
   const nir_src &c() const { return products.front()->src[3]; }
   const nir_src &d() const { return products.back()->src[0]; }
   glsl_cmat_description a_desc() const { return nir_intrinsic_a_cmat_desc(products.front()); }
   glsl_cmat_description b_desc() const { return nir_intrinsic_b_cmat_desc(products.front()); }
   glsl_cmat_description c_desc() const { return nir_intrinsic_c_cmat_desc(products.front()); }
   glsl_cmat_description d_desc() const { return nir_intrinsic_cmat_desc(products.back()); }

   /// Nothing if a component type is unknown.
   std::optional<MatrixOperation> operation() const
   {
      const nir_intrinsic_instr *first = products.front();
      return matrix_operation(d_desc(), a_desc(), b_desc(), c_desc(),
                              nir_intrinsic_cmat_signed_mask(first),
                              nir_intrinsic_saturate(first) != 0);
   }
   uint32_t a_bytes() const { return factor_bytes(a_desc(), TileFactor::a); }
   uint32_t b_bytes() const { return factor_bytes(b_desc(), TileFactor::b); }
   uint32_t d_bytes() const { return tile_bytes(d_desc()); }

private:
   uint32_t factor_bytes(const glsl_cmat_description &desc, TileFactor factor) const
   {
      const auto op = operation();
      return op && is_packed(*op, factor) ? packed_bytes(*op, factor) : tile_bytes(desc);
   }
};

class Planner {
public:
   Planner(const nir_shader *shader, uint32_t subgroup_size) : shader(shader), W(subgroup_size) {}

   Result<ProductPlan> plan(nir_function_impl *impl)
   {
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
            if (intr->intrinsic != nir_intrinsic_tile_muladd_weft || included.contains(intr))
               continue;
            const Sum sum = find_sum(intr);
            const auto operation = sum.operation();
            if (!operation || tile_muladd_symbol(*operation).empty())
               return Error{"no kernel for a matrix operation that the target lists"};
            result.calls_of[intr] = calls(sum, *operation);
         }
      }
      return std::move(result);
   }

private:
   Offset offset(const nir_src &src) const { return Offset(src, W); }

   /// The largest distance from a tile of `bytes` bytes at which another tile may lie in the same
   /// memory, if the program's indices are in range.
   uint32_t reach_from(const nir_src &tile, uint32_t bytes) const
   {
      if (weft_is_shared_tile(tile))
         return shader->info.shared_size - bytes;
      return (shader->scratch_size - bytes_of_invocation(bytes, W)) * W;
   }

   PlacedProduct reach(const Sum &sum) const
   {
      return {reach_from(sum.d(), sum.d_bytes()), reach_from(sum.a(), sum.a_bytes()),
              reach_from(sum.b(), sum.b_bytes())};
   }

   /// A sum's products by the places of their tiles. Empty if the distances from the tiles of
   /// `first` are unknown or exceed a block.
   std::vector<PlacedProduct> place_products(const Sum &sum, const Sum &first) const
   {
      const PlacedProduct most = reach(first);
      const auto is_near = [&](const nir_src &tile, const nir_src &first_tile, uint32_t most) {
         const Offset at = offset(tile), from = offset(first_tile);
         return weft_is_shared_tile(tile) == weft_is_shared_tile(first_tile) &&
                at.has_base_of(from) && at.distance(from) <= most;
      };
      std::vector<PlacedProduct> placed;
      for (const nir_intrinsic_instr *product : sum.products) {
         const nir_src &a = product->src[1], &b = product->src[2];
         if (!is_near(sum.d(), first.d(), most.d) || !is_near(a, first.a(), most.a) ||
             !is_near(b, first.b(), most.b))
            return {};
         placed.push_back({offset(sum.d()).constant, offset(a).constant, offset(b).constant});
      }
      return find_blocks(placed, most).size() == 1 ? placed : std::vector<PlacedProduct>();
   }

   Sum find_sum(const nir_intrinsic_instr *first) const
   {
      const auto bits_of_c = [](const nir_intrinsic_instr *product) {
         return component_bits(nir_intrinsic_c_cmat_desc(product));
      };
      const auto bits_of_d = [](const nir_intrinsic_instr *product) {
         return component_bits(nir_intrinsic_cmat_desc(product));
      };
      const Sum product = {{first}};
      if (bits_of_d(first) <= bits_of_c(first))
         return product;
      Sum sum = product;
      const Offset wide = offset(first->src[0]);
      for (auto *next = next_product(first); next; next = next_product(next)) {
         if (offset(next->src[3]) != wide)
            break;
         sum.products.push_back(next);
         if (bits_of_d(next) < bits_of_c(next))
            return place_products(sum, sum).empty() ? product : sum;
         if (offset(next->src[0]) != wide)
            break;
      }
      return product;
   }

   /// The products from a sum on that have only arithmetic between them, and whose tiles lie at
   /// known distances: they may be computed in blocks.
   std::vector<PlacedProduct> gather_products(const Sum &first, const MatrixOperation &op)
   {
      std::vector<PlacedProduct> products;
      const auto add = [&](const Sum &sum, const std::vector<PlacedProduct> &placed) {
         products.insert(products.end(), placed.begin(), placed.end());
         included.insert(sum.products.begin(), sum.products.end());
      };
      add(first, place_products(first, first));
      const bool in_place = offset(first.c()) == offset(first.d());
      const nir_intrinsic_instr *next = next_product(first.products.back());
      while (next) {
         const Sum sum = find_sum(next);
         const Offset d = offset(sum.d());
         // A separate sum, or the continuation of one. The latter must not be rounded in between.
         const auto is_apart = [&](const PlacedProduct &p) {
            const uint32_t distance = d.distance(p.d);
            return distance >= first.d_bytes() || (distance == 0 && !rounds_sums(op));
         };
         const std::vector<PlacedProduct> placed = place_products(sum, first);
         if (sum.operation() != op || offset(sum.c()) != d || placed.empty() ||
             (!in_place && d != offset(first.d())) || !std::ranges::all_of(products, is_apart))
            break;
         add(sum, placed);
         next = next_product(sum.products.back());
      }
      return products;
   }

   std::vector<ProductCall> calls(const Sum &sum, const MatrixOperation &op)
   {
      const std::vector<PlacedProduct> products = gather_products(sum, op);
      const PlacedProduct &first = products.front();
      std::vector<ProductCall> calls;
      for (const ProductBlock &block : find_blocks(products, reach(sum))) {
         const PlacedProduct &origin = products[block.first];
         const uint32_t rows = block.rows - 1, cols = block.cols - 1, depth = block.depth - 1;
         const uint32_t d_more = rows * block.d_row + cols * block.d_col,
                        a_more = rows * block.a_row + depth * block.a_step,
                        b_more = cols * block.b_col + depth * block.b_step;
         calls.push_back({
            .operation = op,
            .block = block,
            .d = {&sum.d(), sum.d_bytes() + d_more, int32_t(origin.d - first.d)},
            .a = {&sum.a(), sum.a_bytes() + a_more, int32_t(origin.a - first.a)},
            .b = {&sum.b(), sum.b_bytes() + b_more, int32_t(origin.b - first.b)},
            .c = {&sum.c(), tile_bytes(sum.c_desc())},
            .in_place = block.first != 0 || offset(sum.d()) == offset(sum.c()),
         });
      }
      return calls;
   }

   const nir_shader *const shader;
   const uint32_t W;
   ProductPlan result;
   std::unordered_set<const nir_intrinsic_instr *> included; ///< in the calls planned so far
};

} // namespace

Result<ProductPlan> plan_products(nir_shader *shader, uint32_t subgroup_size)
{
   return Planner(shader, subgroup_size).plan(nir_shader_get_entrypoint(shader));
}

} // namespace weft::cpu
