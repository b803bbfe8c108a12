// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/products/unroll_products.h"

#include "nir_passes/loops/loop_control.h"
#include "nir_passes/matrices/cmat_intrinsics.h"

namespace weft::cpu {

namespace {

/// Limits of a block: 4×4 tiles, four times along k, are 64 multiplications and 32 loads.
constexpr uint64_t most_tile_operations = 128, most_instructions = 4096;

/// The instructions that would run if all inner loops were unrolled.
struct Unrolled {
   uint64_t instructions = 0, tiles = 0, products = 0;
   bool possible = true;

   bool is_worthwhile() const
   {
      return possible && products > 0 && tiles <= most_tile_operations &&
             instructions <= most_instructions;
   }
};

void count(nir_block *block, Unrolled &unrolled)
{
   nir_foreach_instr(instr, block) {
      unrolled.instructions++;
      if (uses_tile(instr))
         unrolled.tiles++;
      if (instr->type != nir_instr_type_intrinsic)
         continue;
      const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
      unrolled.products += op == nir_intrinsic_tile_muladd_weft;
      // Accesses of single elements are long loops themselves; nothing moves across barriers.
      unrolled.possible &= op != nir_intrinsic_tile_element_weft &&
                           op != nir_intrinsic_tile_insert_weft && op != nir_intrinsic_barrier;
   }
}

Unrolled count(exec_list *list);

Unrolled count(nir_loop *loop)
{
   Unrolled body = count(&loop->body);
   const uint64_t trips = uint64_t(loop->info->max_trip_count) + 1; // the last may be partial
   if (!loop->info->exact_trip_count_known || trips > most_tile_operations)
      body.possible = false;
   if (body.possible) {
      body.instructions *= trips;
      body.tiles *= trips;
      body.products *= trips;
   }
   return body;
}

Unrolled count(exec_list *list)
{
   Unrolled all;
   const auto add = [&](const Unrolled &part) {
      all.instructions += part.instructions;
      all.tiles += part.tiles;
      all.products += part.products;
      all.possible &= part.possible;
   };
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block:
         count(nir_cf_node_as_block(node), all);
         break;
      case nir_cf_node_if:
         add(count(&nir_cf_node_as_if(node)->then_list));
         add(count(&nir_cf_node_as_if(node)->else_list));
         break;
      case nir_cf_node_loop:
         add(count(nir_cf_node_as_loop(node)));
         break;
      default:
         break;
      }
   }
   return all;
}

bool mark_loops(exec_list *list, bool within_unrolled)
{
   bool changed = false;
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      if (node->type == nir_cf_node_if) {
         changed |= mark_loops(&nir_cf_node_as_if(node)->then_list, within_unrolled);
         changed |= mark_loops(&nir_cf_node_as_if(node)->else_list, within_unrolled);
      } else if (node->type == nir_cf_node_loop) {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const Unrolled unrolled = count(loop);
         const bool unroll = within_unrolled || unrolled.is_worthwhile();
         if (unroll)
            changed |= set_control(loop, nir_loop_control_unroll);
         changed |= mark_loops(&loop->body, unroll);
      }
   }
   return changed;
}

} // namespace

bool unroll_products(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_metadata_require(impl, nir_metadata_loop_analysis, nir_var_function_temp, false);
   const bool changed = mark_loops(&impl->body, false);
   nir_metadata_preserve(impl, nir_metadata_all);
   return changed;
}

} // namespace weft::cpu
