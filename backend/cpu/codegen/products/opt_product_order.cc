// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/opt_product_order.h"

#include "backend/cpu/codegen/products/shared_tile.h"

#include "nir_passes/matrices/cmat_marks.h"

#include <algorithm>
#include <map>
#include <vector>

namespace weft::cpu {

namespace {

bool is_product(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_tile_muladd_weft;
}

nir_variable *variable_of(const nir_src &src)
{
   return nir_deref_instr_get_variable(nir_src_as_deref(src));
}

/// The accesses of a variable of factors.
struct Factors {
   struct Access {
      nir_src *src;
      std::vector<uint64_t> tile; ///< indices of the tile
      bool is_load;
      uint32_t barriers;
   };
   std::vector<Access> accesses;    ///< in order
   const glsl_type *type = nullptr; ///< type of a tile
   const nir_block *block = nullptr;
   bool is_simple = true; ///< only loads and multiplications of whole tiles, in one block

   /// Records an access with `barriers` barriers before it.
   void add(nir_src *src, bool is_load, uint32_t barriers)
   {
      nir_deref_instr *deref = nir_src_as_deref(*src);
      const nir_block *here = nir_src_parent_instr(src)->block;
      is_simple &= (!block || block == here) && (!type || type == deref->type);
      block = here;
      type = deref->type;
      Access access = {src, {}, is_load, barriers};
      for (; deref->deref_type != nir_deref_type_var; deref = nir_deref_instr_parent(deref)) {
         if (deref->deref_type != nir_deref_type_array || !nir_src_is_const(deref->arr.index)) {
            is_simple = false;
            return;
         }
         access.tile.push_back(nir_src_as_uint(deref->arr.index));
      }
      accesses.push_back(access);
   }

   /// For each access, the number of its load: the access itself, or the load that it reads. Empty
   /// without accesses, or if an access reads no load or a load before a barrier.
   std::vector<uint32_t> loads() const
   {
      std::vector<uint32_t> numbers;
      std::map<std::vector<uint64_t>, std::pair<uint32_t, uint32_t>> last; // number, barriers
      uint32_t count = 0;
      for (const Access &access : accesses) {
         if (access.is_load)
            last[access.tile] = {count++, access.barriers};
         const auto seen = last.find(access.tile);
         if (seen == last.end() || seen->second.second != access.barriers)
            return {};
         numbers.push_back(seen->second.first);
      }
      return numbers;
   }
};

/// Whether a use of a variable's deref is another index or the operand of a tile operation.
bool is_simple_use(const nir_src *src)
{
   if (nir_src_is_if(src))
      return false;
   const nir_instr *user = nir_src_parent_instr(src);
   if (user->type == nir_instr_type_deref)
      return nir_instr_as_deref(user)->deref_type == nir_deref_type_array;
   return user->type == nir_instr_type_intrinsic &&
          (is_tile_load(nir_instr_as_intrinsic(user)) || is_product(nir_instr_as_intrinsic(user)));
}

/// The accesses of all private variables, in program order.
std::vector<Factors> find_factors(nir_function_impl *impl)
{
   std::vector<Factors> all;
   std::map<const nir_variable *, size_t> places;
   const auto factors_of = [&](const nir_variable *var) -> Factors & {
      const auto [place, is_new] = places.try_emplace(var, all.size());
      if (is_new)
         all.emplace_back();
      return all[place->second];
   };
   uint32_t barriers = 0;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_deref) {
            nir_deref_instr *deref = nir_instr_as_deref(instr);
            if (nir_variable *var = nir_deref_instr_get_variable(deref)) {
               nir_foreach_use_including_if(src, &deref->def)
                  factors_of(var).is_simple &= is_simple_use(src);
            }
         }
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
         const bool load = is_tile_load(intr);
         barriers += intr->intrinsic == nir_intrinsic_barrier;
         if (!load && !is_product(intr))
            continue;
         for (unsigned i = 0; i < (load ? 2 : 4); i++) {
            const bool is_factor = load ? i == 0 : i == 1 || i == 2;
            nir_variable *var =
               nir_src_as_deref(intr->src[i]) ? variable_of(intr->src[i]) : nullptr;
            if (var && var->data.mode != nir_var_function_temp)
               continue;
            if (var && is_factor)
               factors_of(var).add(&intr->src[i], load, barriers);
            else if (var)
               factors_of(var).is_simple = false;
         }
      }
   }
   return all;
}

/// Tiles in shared memory.
class SharedTiles {
public:
   SharedTiles(nir_builder &b, uint32_t subgroup_size, uint32_t bytes)
       : b(b), subgroup_size(subgroup_size), bytes_left(bytes)
   {
   }

   /// Moves the workgroup's matrices (cmat_marks.h), for which lower_cmat_scope() left room:
   /// all matrices with one tile type become one variable.
   bool move_workgroup_matrices()
   {
      std::vector<nir_variable *> matrices;
      nir_foreach_function_temp_variable(variable, b.impl) {
         if (weft_is_workgroup_matrix(variable))
            matrices.push_back(variable);
      }
      std::ranges::stable_sort(matrices, std::greater(),
                               [](nir_variable *v) { return glsl_get_length(v->type); });
      std::map<const glsl_type *, nir_variable *> tiles;
      for (nir_variable *matrix : matrices) {
         const glsl_type *type = glsl_get_array_element(matrix->type);
         nir_variable *&all = tiles[type];
         if (!all)
            all = create(type, glsl_get_length(matrix->type), "workgroup_matrix");
         move(matrix, all);
      }
      return !matrices.empty();
   }

   /// Gives each load memory of its own, if enough is left.
   bool move(const Factors &factors)
   {
      if (!factors.is_simple)
         return false;
      const std::vector<uint32_t> loads = factors.loads();
      if (loads.empty())
         return false;
      const uint32_t count = *std::ranges::max_element(loads) + 1;
      if (bytes(factors.type, count) > bytes_left)
         return false;
      nir_variable *tiles = create(factors.type, count, "factors");
      for (size_t i = 0; i < loads.size(); i++) {
         nir_src *src = factors.accesses[i].src;
         b.cursor = nir_before_instr(nir_src_parent_instr(src));
         nir_src_rewrite(src, &tile(tiles, nir_imm_int64(&b, loads[i]))->def);
      }
      return true;
   }

private:
   void move(nir_variable *matrix, nir_variable *tiles)
   {
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr_safe(instr, block) {
            if (instr->type != nir_instr_type_deref)
               continue;
            nir_deref_instr *deref = nir_instr_as_deref(instr);
            if (deref->deref_type != nir_deref_type_array ||
                nir_deref_instr_get_variable(deref) != matrix ||
                nir_deref_instr_parent(deref)->deref_type != nir_deref_type_var)
               continue;
            b.cursor = nir_after_instr(instr);
            nir_def *number = nir_u2u64(&b, deref->arr.index.ssa);
            nir_def_rewrite_uses(&deref->def, &tile(tiles, number)->def);
         }
      }
   }

   /// A shared tile holds the parts of all invocations.
   const glsl_type *array(const glsl_type *tile, uint32_t count) const
   {
      return glsl_array_type(glsl_array_type(tile, subgroup_size, 0), count, 0);
   }

   uint32_t bytes(const glsl_type *tile, uint32_t count) const
   {
      return shared_tiles_bytes(array(tile, count));
   }

   nir_variable *create(const glsl_type *tile, uint32_t count, const char *name)
   {
      bytes_left -= std::min(bytes_left, bytes(tile, count));
      return create_shared_tiles(b.shader, array(tile, count), name);
   }

   nir_deref_instr *tile(nir_variable *tiles, nir_def *number)
   {
      return build_shared_tile(&b, tiles, number);
   }

   nir_builder &b;
   const uint32_t subgroup_size;
   uint32_t bytes_left;
};

/// Multiplications of a block that are sinking.
class Sinking {
public:
   bool progress = false;

   void pass(nir_instr *instr)
   {
      if (instr->type == nir_instr_type_intrinsic && is_product(nir_instr_as_intrinsic(instr))) {
         products.push_back(nir_instr_as_intrinsic(instr));
         return;
      }
      if (!products.empty() && must_precede(instr)) {
         for (nir_intrinsic_instr *product : products)
            progress |= nir_instr_move(nir_before_instr(instr), &product->instr);
         products.clear();
      }
   }

   void end(nir_block *block)
   {
      for (nir_intrinsic_instr *product : products)
         progress |= nir_instr_move(nir_after_block_before_jump(block), &product->instr);
      products.clear();
   }

private:
   bool must_precede(nir_instr *instr) const
   {
      switch (instr->type) {
      case nir_instr_type_alu:
      case nir_instr_type_deref:
      case nir_instr_type_load_const:
      case nir_instr_type_undef:
         return false;
      case nir_instr_type_intrinsic:
         break;
      default:
         return true;
      }
      nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
      if (is_tile_load(intr))
         return uses(intr->src[0], 0) || (nir_src_as_deref(intr->src[1]) && writes(intr->src[1]));
      // Passes an instruction that only reads memory other than private memory.
      const nir_intrinsic_info &info = nir_intrinsic_infos[intr->intrinsic];
      if (!(info.flags & NIR_INTRINSIC_CAN_ELIMINATE))
         return true;
      for (unsigned i = 0; i < info.num_srcs; i++) {
         if (nir_src_as_deref(intr->src[i]))
            return true;
      }
      return false;
   }

   /// Whether the variable is, or may be, among the products' sources from `first` on.
   bool uses(const nir_src &tile, unsigned first) const
   {
      const nir_variable *var = variable_of(tile);
      return std::ranges::any_of(products, [&](nir_intrinsic_instr *product) {
         for (unsigned i = first; i < 4; i++) {
            const nir_variable *used = variable_of(product->src[i]);
            if (!var || !used || (used == var && may_be_same(product->src[i], tile)))
               return true;
         }
         return false;
      });
   }

   bool writes(const nir_src &tile) const
   {
      const nir_variable *var = variable_of(tile);
      return std::ranges::any_of(products, [&](nir_intrinsic_instr *product) {
         const nir_variable *written = variable_of(product->src[0]);
         return !var || !written || var == written;
      });
   }

   static bool may_be_same(const nir_src &x, const nir_src &y)
   {
      return nir_compare_derefs(nir_src_as_deref(x), nir_src_as_deref(y)) &
             nir_derefs_may_alias_bit;
   }

   std::vector<nir_intrinsic_instr *> products;
};

} // namespace

bool opt_product_order(nir_shader *nir, uint32_t subgroup_size, uint32_t bytes)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_builder b = nir_builder_create(impl);
   bool progress = false;
   SharedTiles shared(b, subgroup_size, bytes);
   progress |= shared.move_workgroup_matrices();
   for (const Factors &factors : find_factors(impl))
      progress |= shared.move(factors);
   Sinking sinking;
   nir_foreach_block(block, impl) {
      nir_foreach_instr_safe(instr, block)
         sinking.pass(instr);
      sinking.end(block);
   }
   progress |= sinking.progress;
   nir_metadata_preserve(impl, progress ? nir_metadata_control_flow : nir_metadata_all);
   return progress;
}

} // namespace weft::cpu
