// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/choose_unrolling.h"

#include "backend/cpu/codegen/facts/control_flow.h"

#include "nir_passes/loops/loop_control.h"
#include "nir_passes/matrices/cmat_intrinsics.h"

namespace weft::cpu {

namespace {

/// Limits of a block: 4×4 tiles, four times along k, are 64 multiplications and 32 loads.
constexpr uint64_t most_tile_operations = 128, most_instructions = 4096;

bool is_worthwhile_block(const LoopCost &loop)
{
   return loop.is_block && loop.products > 0 && loop.tiles <= most_tile_operations &&
          loop.instructions <= most_instructions;
}

} // namespace

nir_loop_control unrolling_of(const LoopCost &loop)
{
   if (is_worthwhile_block(loop))
      return nir_loop_control_unroll;
   if (loop.tiles > 0 || (loop.waits && !loop.indexes_private_array))
      return nir_loop_control_dont_unroll;
   return nir_loop_control_none;
}

namespace {

/// Whether a value depends on one that changes from iteration to iteration.
bool is_counted_by(const nir_src &src, nir_loop *loop, unsigned depth = 0)
{
   constexpr unsigned max_depth = 8;
   nir_instr *instr = src.ssa->parent_instr;
   if (instr->type == nir_instr_type_phi)
      return instr->block == nir_loop_first_block(loop);
   if (instr->type != nir_instr_type_alu || depth == max_depth)
      return false;
   const nir_alu_instr *alu = nir_instr_as_alu(instr);
   for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; i++) {
      if (is_counted_by(alu->src[i].src, loop, depth + 1))
         return true;
   }
   return false;
}

bool indexes_private_array(nir_loop *loop)
{
   nir_foreach_block_in_cf_node(block, &loop->cf_node)
   {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_deref)
            continue;
         const nir_deref_instr *deref = nir_instr_as_deref(instr);
         if (deref->deref_type == nir_deref_type_array &&
             nir_deref_mode_may_be(deref, nir_var_function_temp) &&
             is_counted_by(deref->arr.index, loop))
            return true;
      }
   }
   return false;
}

class Chooser {
public:
   explicit Chooser(bool subgroups_wait) : subgroups_wait(subgroups_wait) {}

   bool changed = false;

   /// Sets the treatment of all loops in a list; returns the cost of the list, unrolled.
   LoopCost visit(exec_list *list)
   {
      LoopCost all;
      foreach_list_typed(nir_cf_node, node, node, list)
      {
         switch (node->type) {
         case nir_cf_node_block:
            count(nir_cf_node_as_block(node), all);
            break;
         case nir_cf_node_if:
            add(visit(&nir_cf_node_as_if(node)->then_list), all);
            add(visit(&nir_cf_node_as_if(node)->else_list), all);
            break;
         case nir_cf_node_loop:
            add(visit(nir_cf_node_as_loop(node)), all);
            break;
         default:
            break;
         }
      }
      return all;
   }

private:
   LoopCost visit(nir_loop *loop)
   {
      LoopCost cost = visit(&loop->body);
      const uint64_t trips = uint64_t(loop->info->max_trip_count) + 1; // the last may be partial
      if (!loop->info->exact_trip_count_known || trips > most_tile_operations)
         cost.is_block = false;
      if (cost.is_block) {
         cost.instructions *= trips;
         cost.tiles *= trips;
         cost.products *= trips;
      }
      cost.indexes_private_array = cost.waits && indexes_private_array(loop);

      const nir_loop_control choice = unrolling_of(cost);
      if (choice == nir_loop_control_unroll)
         unroll(loop);
      else if (choice != nir_loop_control_none || loop->control == nir_loop_control_unroll)
         changed |= set_control(loop, choice);
      return cost;
   }

   /// Unrolls a loop and all loops in it.
   void unroll(nir_loop *loop)
   {
      changed |= set_control(loop, nir_loop_control_unroll);
      nir_foreach_block_in_cf_node(block, &loop->cf_node)
      {
         nir_cf_node *parent = block->cf_node.parent;
         if (parent->type == nir_cf_node_loop)
            changed |= set_control(nir_cf_node_as_loop(parent), nir_loop_control_unroll);
      }
   }

   void count(nir_block *block, LoopCost &cost) const
   {
      nir_foreach_instr(instr, block) {
         cost.instructions++;
         cost.tiles += uses_tile(instr);
         cost.waits |= subgroups_wait && is_control_barrier(instr);
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
         cost.products += op == nir_intrinsic_tile_muladd_weft;
         // Accesses of single elements are long loops themselves; nothing moves across barriers.
         cost.is_block &= op != nir_intrinsic_tile_element_weft &&
                          op != nir_intrinsic_tile_insert_weft && op != nir_intrinsic_barrier;
      }
   }

   static void add(const LoopCost &part, LoopCost &all)
   {
      all.instructions += part.instructions;
      all.tiles += part.tiles;
      all.products += part.products;
      all.is_block &= part.is_block;
      all.waits |= part.waits;
   }

   const bool subgroups_wait; ///< the workgroup has more than one
};

} // namespace

bool choose_unrolling(nir_shader *nir, uint32_t subgroup_size)
{
   const uint16_t *size = nir->info.workgroup_size;
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_metadata_require(impl, nir_metadata_loop_analysis, nir_var_function_temp, false);
   Chooser chooser(uint32_t(size[0]) * size[1] * size[2] > subgroup_size);
   chooser.visit(&impl->body);
   nir_metadata_preserve(impl, nir_metadata_all);
   return chooser.changed;
}

} // namespace weft::cpu
