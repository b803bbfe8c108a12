// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/opt_product_depth.h"

#include "backend/cpu/codegen/products/pack_factors.h"
#include "backend/cpu/codegen/products/shared_tile.h"
#include "backend/cpu/kernels/tile_kernels.h"

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_uses.h"

#include "compiler/nir/nir_builder.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weft::cpu {

namespace {

/// A sum of values and a constant, in which additions of constants may be nested.
struct AddressSum {
   std::vector<std::pair<nir_def *, unsigned>> terms; ///< sorted
   uint64_t constant = 0;

   explicit AddressSum(nir_scalar scalar)
   {
      add(scalar, 0);
      std::ranges::sort(terms);
   }

private:
   void add(nir_scalar scalar, unsigned depth)
   {
      constexpr unsigned most_depth = 6;
      if (nir_scalar_is_const(scalar)) {
         constant += uint64_t(nir_scalar_as_int(scalar));
      } else if (depth < most_depth && nir_scalar_is_alu(scalar) &&
                 nir_scalar_alu_op(scalar) == nir_op_iadd) {
         add(nir_scalar_chase_alu_src(scalar, 0), depth + 1);
         add(nir_scalar_chase_alu_src(scalar, 1), depth + 1);
      } else {
         terms.emplace_back(scalar.def, scalar.comp);
      }
   }
};

/// The operation of twice the depth. Nothing if there is none, or if its sums could differ.
std::optional<MatrixOperation> deeper(MatrixOperation op)
{
   op.k *= 2;
   if (op.saturating || rounds_sums(op) || op.c != op.result || !is_packed(op, TileFactor::a) ||
       !is_packed(op, TileFactor::b))
      return {};
   return op;
}

bool is_b(const nir_intrinsic_instr *pack)
{
   return nir_intrinsic_cmat_desc(pack).use == GLSL_CMAT_USE_B;
}

/// Whether the second pack's memory continues the first one's along k.
bool continues(nir_intrinsic_instr *first, nir_intrinsic_instr *second)
{
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(first);
   const nir_src &stride = first->src[2];
   const bool same_form =
      nir_intrinsic_matrix_layout(first) == nir_intrinsic_matrix_layout(second) &&
      nir_intrinsic_memory_modes(first) == nir_intrinsic_memory_modes(second) &&
      nir_intrinsic_cmat_signed_mask(first) == nir_intrinsic_cmat_signed_mask(second);
   const bool same_stride = nir_srcs_equal(stride, second->src[2]) ||
                            (nir_src_is_const(stride) && nir_src_is_const(second->src[2]) &&
                             nir_src_as_int(stride) == nir_src_as_int(second->src[2]));
   if (!same_form || !same_stride || nir_src_as_deref(first->src[1]) ||
       nir_src_as_deref(second->src[1]))
      return false;

   const bool columns = nir_intrinsic_matrix_layout(first) == GLSL_MATRIX_LAYOUT_COLUMN_MAJOR;
   const uint32_t k = is_b(first) ? desc.rows : desc.cols;
   int64_t distance = k * (component_bits(desc) / 8);
   if (columns != is_b(first)) {
      if (!nir_src_is_const(stride))
         return false;
      distance = k * nir_src_as_int(stride);
   }
   // Descriptor and offset of a buffer; the offset is last.
   const unsigned last = first->src[1].ssa->num_components - 1;
   for (unsigned i = 0; i < last; i++) {
      const nir_scalar x = nir_scalar_resolved(first->src[1].ssa, i),
                       y = nir_scalar_resolved(second->src[1].ssa, i);
      const bool same_constant = nir_scalar_is_const(x) && nir_scalar_is_const(y) &&
                                 nir_scalar_as_uint(x) == nir_scalar_as_uint(y);
      if (!same_constant && !nir_scalar_equal(x, y))
         return false;
   }
   const AddressSum from(nir_scalar_resolved(first->src[1].ssa, last)),
      to(nir_scalar_resolved(second->src[1].ssa, last));
   return from.terms == to.terms && int64_t(to.constant - from.constant) == distance;
}

/// The load of a tile.
struct FactorLoad {
   nir_intrinsic_instr *pack = nullptr;
   uint32_t place = 0;         ///< among the loads, in program order
   FactorLoad *next = nullptr; ///< the other half of a pair, for its first one
   bool is_second = false;
   uint32_t number = 0; ///< of the pair, for its first one
   uint32_t uses = 0;   ///< by the segment's products
};

/// The numbers of products that read each shared tile.
using TileUses = std::map<SharedTile, uint32_t>;

TileUses count_uses(nir_function_impl *impl)
{
   TileUses uses;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic ||
             nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_tile_muladd_weft)
            continue;
         for (const unsigned source : {1u, 2u}) {
            if (const auto tile = shared_tile(nir_instr_as_intrinsic(instr)->src[source]))
               uses[*tile]++;
         }
      }
   }
   return uses;
}

/// The multiplications of a block without other side effects between them.
class ProductSegment {
public:
   ProductSegment(nir_builder &b, const TileUses &all_uses, uint32_t subgroup_size)
       : b(b), all_uses(all_uses), subgroup_size(subgroup_size)
   {
   }

   void add_load(nir_intrinsic_instr *pack)
   {
      const std::optional<SharedTile> tile = shared_tile(pack->src[0]);
      if (!tile)
         return;
      const FactorLoad load = {.pack = pack, .place = uint32_t(loads.size())};
      loaded_once &= loads.emplace(*tile, load).second;
   }

   void add_product(nir_intrinsic_instr *product) { products.push_back(product); }

   /// Joins all products, or none.
   bool join()
   {
      const std::optional<MatrixOperation> deep = find_operation();
      if (!deep || !loaded_once || !find_pairs())
         return false;
      for (const auto &[tile, load] : loads) {
         const bool in_pair = load.next || load.is_second;
         if ((in_pair && load.uses != all_uses.at(tile)) ||
             (load.next && !continues(load.pack, load.next->pack)))
            return false;
      }
      const uint32_t count = number_pairs();
      nir_variable *wide[] = {create(*deep, TileFactor::a, count),
                              create(*deep, TileFactor::b, count)};
      for (auto &[tile, load] : loads) {
         if (load.next)
            widen(load, wide[is_b(load.pack)]);
      }
      for (const Pair &pair : pairs) {
         rewrite(pair, 1, wide[0]);
         rewrite(pair, 2, wide[1]);
         nir_intrinsic_set_a_cmat_desc(pair.second,
                                       deeper_desc(nir_intrinsic_a_cmat_desc(pair.second)));
         nir_intrinsic_set_b_cmat_desc(pair.second,
                                       deeper_desc(nir_intrinsic_b_cmat_desc(pair.second)));
         nir_instr_remove(&pair.first->instr);
      }
      for (auto &[tile, load] : loads) {
         if (load.next || load.is_second)
            nir_instr_remove(&load.pack->instr);
      }
      return true;
   }

private:
   struct Pair {
      nir_intrinsic_instr *first, *second;
   };

   /// The deeper operation, if all products have the same.
   std::optional<MatrixOperation> find_operation() const
   {
      if (products.empty())
         return {};
      const MatrixOperation op = operation_of_product(products[0]);
      for (const nir_intrinsic_instr *product : products) {
         if (operation_of_product(product) != op)
            return {};
      }
      return deeper(op);
   }

   /// Pairs of products of one sum, and the pairs of their loads. False if one remains alone.
   bool find_pairs()
   {
      std::vector<nir_intrinsic_instr *> alone;
      for (nir_intrinsic_instr *product : products) {
         const nir_src &sum = product->src[0];
         if (!is_same(sum, product->src[3]))
            return false;
         for (const nir_intrinsic_instr *other : products) {
            if (may_be_same(sum, other->src[0]) && !is_same(sum, other->src[0]))
               return false;
         }
         const auto first = std::ranges::find_if(
            alone, [&](nir_intrinsic_instr *other) { return is_same(sum, other->src[0]); });
         if (first == alone.end()) {
            alone.push_back(product);
            continue;
         }
         for (const unsigned source : {1u, 2u}) {
            if (!link(load_of((*first)->src[source]), load_of(product->src[source])))
               return false;
         }
         pairs.push_back({*first, product});
         alone.erase(first);
      }
      return alone.empty();
   }

   /// Makes two loads a pair. False if one of them is missing or has another partner.
   static bool link(FactorLoad *first, FactorLoad *second)
   {
      if (!first || !second || first->is_second || second->next)
         return false;
      first->uses++;
      second->uses++;
      if (first->next == second)
         return true;
      if (first->next || second->is_second)
         return false;
      first->next = second;
      second->is_second = true;
      return true;
   }

   FactorLoad *load_of(const nir_src &factor)
   {
      const std::optional<SharedTile> tile = shared_tile(factor);
      const auto found = tile ? loads.find(*tile) : loads.end();
      return found == loads.end() ? nullptr : &found->second;
   }

   /// Numbers the pairs of A, and apart the pairs of B, in program order. Returns the larger count.
   uint32_t number_pairs()
   {
      std::vector<FactorLoad *> firsts;
      for (auto &[tile, load] : loads) {
         if (load.next)
            firsts.push_back(&load);
      }
      std::ranges::sort(firsts, {}, &FactorLoad::place);
      uint32_t counts[2] = {};
      for (FactorLoad *load : firsts)
         load->number = counts[is_b(load->pack)]++;
      return std::max(counts[0], counts[1]);
   }

   nir_variable *create(const MatrixOperation &op, TileFactor factor, uint32_t count)
   {
      const uint32_t words = packed_bytes(op, factor) / sizeof(uint32_t);
      const glsl_type *part =
         glsl_array_type(glsl_uint_type(), (words + subgroup_size - 1) / subgroup_size, 0);
      const glsl_type *tile = glsl_array_type(part, subgroup_size, 0);
      return create_shared_tiles(b.shader, glsl_array_type(tile, count, 0), "deep_factors");
   }

   nir_def *tile(nir_variable *tiles, uint32_t number)
   {
      return &build_shared_tile(&b, tiles, nir_imm_int64(&b, number))->def;
   }

   /// Packs the memory of a pair at the place of its later load.
   void widen(const FactorLoad &load, nir_variable *tiles)
   {
      nir_intrinsic_instr *pack = load.pack;
      b.cursor = nir_before_instr(&(load.place > load.next->place ? pack : load.next->pack)->instr);
      nir_def *to = tile(tiles, load.number);
      _nir_build_tile_pack_weft(
         &b, to, pack->src[1].ssa, pack->src[2].ssa,
         {._ = 0,
          .cmat_desc = deeper_desc(nir_intrinsic_cmat_desc(pack)),
          .a_cmat_desc = deeper_desc(nir_intrinsic_a_cmat_desc(pack)),
          .b_cmat_desc = deeper_desc(nir_intrinsic_b_cmat_desc(pack)),
          .c_cmat_desc = nir_intrinsic_c_cmat_desc(pack),
          .cmat_signed_mask = nir_intrinsic_cmat_signed_mask(pack),
          .matrix_layout = glsl_matrix_layout(nir_intrinsic_matrix_layout(pack)),
          .memory_modes = nir_intrinsic_memory_modes(pack)});
   }

   static glsl_cmat_description deeper_desc(glsl_cmat_description desc)
   {
      if (desc.use == GLSL_CMAT_USE_A)
         desc.cols *= 2;
      else
         desc.rows *= 2;
      return desc;
   }

   /// Replaces a factor of the second product.
   void rewrite(const Pair &pair, unsigned source, nir_variable *tiles)
   {
      b.cursor = nir_before_instr(&pair.second->instr);
      const FactorLoad *load = load_of(pair.first->src[source]);
      nir_src_rewrite(&pair.second->src[source], tile(tiles, load->number));
   }

   static bool is_same(const nir_src &x, const nir_src &y)
   {
      return nir_compare_derefs(nir_src_as_deref(x), nir_src_as_deref(y)) & nir_derefs_equal_bit;
   }

   static bool may_be_same(const nir_src &x, const nir_src &y)
   {
      return nir_compare_derefs(nir_src_as_deref(x), nir_src_as_deref(y)) &
             nir_derefs_may_alias_bit;
   }

   nir_builder &b;
   const TileUses &all_uses;
   const uint32_t subgroup_size;
   bool loaded_once = true; ///< each tile
   std::map<SharedTile, FactorLoad> loads;
   std::vector<nir_intrinsic_instr *> products;
   std::vector<Pair> pairs;
};

/// Whether an instruction may stand between the instructions of a segment.
bool may_stand_between(const nir_instr *instr)
{
   switch (instr->type) {
   case nir_instr_type_alu:
   case nir_instr_type_deref:
   case nir_instr_type_load_const:
   case nir_instr_type_undef:
      return true;
   case nir_instr_type_intrinsic: {
      const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(const_cast<nir_instr *>(instr));
      return nir_intrinsic_infos[intr->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE;
   }
   default:
      return false;
   }
}

bool join_block(nir_builder &b, nir_block *block, const TileUses &uses, uint32_t subgroup_size)
{
   bool progress = false;
   std::optional<ProductSegment> segment;
   const auto end = [&] {
      progress |= segment && segment->join();
      segment.reset();
   };
   nir_foreach_instr_safe(instr, block) {
      const nir_intrinsic_op op = instr->type == nir_instr_type_intrinsic
                                     ? nir_instr_as_intrinsic(instr)->intrinsic
                                     : nir_num_intrinsics;
      if (op != nir_intrinsic_tile_pack_weft && op != nir_intrinsic_tile_muladd_weft) {
         if (!may_stand_between(instr))
            end();
         continue;
      }
      if (!segment)
         segment.emplace(b, uses, subgroup_size);
      if (op == nir_intrinsic_tile_pack_weft)
         segment->add_load(nir_instr_as_intrinsic(instr));
      else
         segment->add_product(nir_instr_as_intrinsic(instr));
   }
   end();
   return progress;
}

} // namespace

bool opt_product_depth(nir_shader *nir, uint32_t subgroup_size)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_builder b = nir_builder_create(impl);
   bool progress = false;
   // Twice the depth may be doubled again.
   for (bool again = true; again;) {
      again = false;
      const TileUses uses = count_uses(impl);
      nir_foreach_block(block, impl)
         again |= join_block(b, block, uses, subgroup_size);
      progress |= again;
   }
   nir_metadata_preserve(impl, progress ? nir_metadata_control_flow : nir_metadata_all);
   return progress;
}

} // namespace weft::cpu
