// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/early_blocks.h"

#include "backend/cpu/codegen/facts/control_flow.h"

#include "nir_passes/matrices/cmat_marks.h"

namespace weft::cpu {

namespace {

/// Whether subgroups may see each other's writes by the instruction.
bool communicates(const nir_instr *instr, bool has_others)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
   if (nir_intrinsic_has_atomic_op(intr))
      return true;
   if (is_control_barrier(instr))
      return has_others;
   return nir_intrinsic_has_access(intr) &&
          nir_intrinsic_access(intr) & (ACCESS_VOLATILE | ACCESS_COHERENT);
}

/// Whether the instruction changes more than the invocations' own memory.
bool has_effect(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
   switch (intr->intrinsic) {
   case nir_intrinsic_barrier:
   case nir_intrinsic_store_scratch:
   case nir_intrinsic_tile_element_weft:
      return false;
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_muladd_weft:
   case nir_intrinsic_tile_pack_weft:
   case nir_intrinsic_tile_insert_weft:
      return weft_is_shared_tile(intr->src[0]);
   default:
      return !(nir_intrinsic_infos[intr->intrinsic].flags & NIR_INTRINSIC_CAN_ELIMINATE);
   }
}

} // namespace

EarlyBlocks::EarlyBlocks(nir_shader *shader, uint32_t subgroup_size)
{
   const uint16_t *size = shader->info.workgroup_size;
   const bool has_others = uint32_t(size[0]) * size[1] * size[2] > subgroup_size;
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   effects_before.push_back(0);
   nir_foreach_block(block, impl) {
      assert(block->index + 1 == effects_before.size());
      uint32_t effects = effects_before.back();
      nir_foreach_instr(instr, block) {
         if (communicates(instr, has_others))
            return;
         effects += has_effect(instr);
      }
      effects_before.push_back(effects);
   }
   visit_list(&impl->body, false);
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
         visit_list(&nif->then_list, after_effect || (divergent && else_has));
         visit_list(&nif->else_list, after_effect || (divergent && then_has));
         after_effect |= then_has || else_has;
         break;
      }
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         after_effect |= have_effect(nir_loop_first_block(loop), nir_loop_last_block(loop));
         visit_list(&loop->body, after_effect);
         break;
      }
      default:
         unreachable("functions have been inlined");
      }
   }
}

} // namespace weft::cpu
