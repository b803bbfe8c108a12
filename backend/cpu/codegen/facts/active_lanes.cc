// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/active_lanes.h"

namespace weft::cpu {

ActiveLanes::ActiveLanes(nir_shader *shader, uint32_t subgroup_size)
{
   const uint16_t *size = shader->info.workgroup_size;
   const uint32_t invocations = uint32_t(size[0]) * size[1] * size[2];
   visit_list(&nir_shader_get_entrypoint(shader)->body, invocations % subgroup_size != 0);
}

/// Returns whether control reaches the end of the list.
bool ActiveLanes::visit_list(exec_list *list, bool mask)
{
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block: {
         nir_block *block = nir_cf_node_as_block(node);
         if (mask)
            masked.insert(block);
         if (nir_block_ends_in_jump(block))
            return false;
         break;
      }
      case nir_cf_node_if:
         if (!visit_if(nir_cf_node_as_if(node), mask))
            return false;
         break;
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         visit_list(&loop->body, mask || loop->divergent_break || loop->divergent_continue);
         if (nir_cf_node_as_block(nir_cf_node_next(node))->predecessors->entries == 0)
            return false; // an endless loop
         break;
      }
      default:
         unreachable("functions have been inlined");
      }
   }
   return true;
}

/// Returns whether control reaches the code after the if, and sets the mask of that code.
bool ActiveLanes::visit_if(nir_if *nif, bool &mask)
{
   const bool divergent = nif->condition.ssa->divergent;
   const bool then_ends = visit_list(&nif->then_list, mask || divergent),
              else_ends = visit_list(&nif->else_list, mask || divergent);
   // Only the lanes of one side continue.
   mask |= divergent && !(then_ends && else_ends);
   return then_ends || else_ends;
}

} // namespace weft::cpu
