// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/keep_barrier_loops.h"

#include "backend/cpu/codegen/facts/control_flow.h"

#include "nir_passes/loops/loop_control.h"

namespace weft::cpu {

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

/// Such an array would stay in memory if the loop were not unrolled.
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

bool keep_loops(exec_list *list)
{
   bool changed = false;
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      if (node->type == nir_cf_node_if) {
         changed |= keep_loops(&nir_cf_node_as_if(node)->then_list);
         changed |= keep_loops(&nir_cf_node_as_if(node)->else_list);
      } else if (node->type == nir_cf_node_loop) {
         nir_loop *loop = nir_cf_node_as_loop(node);
         if (has_control_barrier(loop) && !indexes_private_array(loop))
            changed |= set_control(loop, nir_loop_control_dont_unroll);
         changed |= keep_loops(&loop->body);
      }
   }
   return changed;
}

} // namespace

bool keep_barrier_loops(nir_shader *shader, uint32_t subgroup_size)
{
   const uint16_t *size = shader->info.workgroup_size;
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   const bool changed =
      uint32_t(size[0]) * size[1] * size[2] > subgroup_size && keep_loops(&impl->body);
   nir_metadata_preserve(impl, nir_metadata_all);
   return changed;
}

} // namespace weft::cpu
