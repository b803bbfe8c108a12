// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/early_blocks.h"

#include "backend/cpu/codegen/facts/control_flow.h"

#include "nir_passes/matrices/cmat_marks.h"

namespace weft::cpu {

namespace {

/// Whether subgroups may see each other's writes by the instruction, without a barrier.
bool communicates(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
   return nir_intrinsic_has_atomic_op(intr) ||
          (nir_intrinsic_has_access(intr) &&
           nir_intrinsic_access(intr) & (ACCESS_VOLATILE | ACCESS_COHERENT));
}

} // namespace

/// Whether the instruction changes memory that counts after the kernel has left. Shared memory does
/// not if the whole workgroup begins again.
bool EarlyBlocks::has_effect(const nir_instr *instr) const
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
   const bool keeps_shared = has_others && !has_barriers;
   switch (intr->intrinsic) {
   case nir_intrinsic_barrier:
   case nir_intrinsic_store_scratch:
   case nir_intrinsic_tile_element_weft:
      return false;
   case nir_intrinsic_store_shared:
      return keeps_shared;
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_muladd_weft:
   case nir_intrinsic_tile_pack_weft:
   case nir_intrinsic_tile_insert_weft:
      return keeps_shared && weft_is_shared_tile(intr->src[0]);
   default:
      return !(nir_intrinsic_infos[intr->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

EarlyBlocks::EarlyBlocks(nir_shader *shader, uint32_t subgroup_size)
{
   const uint16_t *size = shader->info.workgroup_size;
   has_others = uint32_t(size[0]) * size[1] * size[2] > subgroup_size;
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (communicates(instr))
            return;
         has_barriers |= has_others && is_control_barrier(instr);
      }
   }
   effects_before.push_back(0);
   nir_foreach_block(block, impl) {
      assert(block->index + 1 == effects_before.size());
      uint32_t effects = effects_before.back();
      nir_foreach_instr(instr, block)
         effects += has_effect(instr);
      effects_before.push_back(effects);
   }
   visit_list(&impl->body, false);
   if (has_barriers)
      remove_overtaken(&impl->body, false);
}

bool EarlyBlocks::have_effect(const nir_block *first, const nir_block *last) const
{
   return effects_before[last->index + 1] != effects_before[first->index];
}

void EarlyBlocks::visit_list(exec_list *list, bool after_effect)
{
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block: {
         const nir_block *block = nir_cf_node_as_block(node);
         if (!after_effect)
            early.insert(block);
         after_effect |= have_effect(block, block);
         break;
      }
      case nir_cf_node_if: {
         nir_if *nif = nir_cf_node_as_if(node);
         const bool divergent = nif->condition.ssa->divergent;
         const bool then_has =
            have_effect(nir_if_first_then_block(nif), nir_if_last_then_block(nif));
         const bool else_has =
            have_effect(nir_if_first_else_block(nif), nir_if_last_else_block(nif));
         // Other subgroups may take the other side of a uniform if.
         const bool has_other_side = divergent || has_barriers;
         visit_list(&nif->then_list, after_effect || (has_other_side && else_has));
         visit_list(&nif->else_list, after_effect || (has_other_side && then_has));
         after_effect |= then_has || else_has;
         break;
      }
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const bool has = have_effect(nir_loop_first_block(loop), nir_loop_last_block(loop));
         visit_list(&loop->body, after_effect || (has && runs_again(loop)));
         after_effect |= has;
         break;
      }
      default:
         unreachable("functions have been inlined");
      }
   }
}

/// Removes the blocks from which another subgroup may get to an effect without a barrier: it may
/// have run ahead. Returns whether it may get to one from the beginning of the list.
bool EarlyBlocks::remove_overtaken(exec_list *list, bool effect_follows)
{
   foreach_list_typed_reverse(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block: {
         const nir_block *block = nir_cf_node_as_block(node);
         nir_foreach_instr_reverse(instr, block) {
            if (instr->type == nir_instr_type_jump)
               effect_follows = nir_instr_as_jump(instr)->type == nir_jump_break
                                   ? effect_follows_loop
                                   : effect_in_loop;
            effect_follows = !is_control_barrier(instr) && (effect_follows || has_effect(instr));
         }
         if (effect_follows)
            early.erase(block);
         break;
      }
      case nir_cf_node_if: {
         nir_if *nif = nir_cf_node_as_if(node);
         const bool behind_then = remove_overtaken(&nif->then_list, effect_follows),
                    behind_else = remove_overtaken(&nif->else_list, effect_follows);
         effect_follows = behind_then || behind_else;
         break;
      }
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const bool follows_outer = effect_follows_loop, in_outer = effect_in_loop;
         effect_follows_loop = effect_follows;
         effect_in_loop =
            effect_follows || (runs_again(loop) &&
                               have_effect(nir_loop_first_block(loop), nir_loop_last_block(loop)));
         effect_follows = remove_overtaken(&loop->body, effect_in_loop);
         effect_follows_loop = follows_outer;
         effect_in_loop = in_outer;
         break;
      }
      default:
         unreachable("functions have been inlined");
      }
   }
   return effect_follows;
}

} // namespace weft::cpu
