// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/limit_unrolling.h"

#include "nir_passes/cmat_intrinsics.h"

namespace weft {

namespace {

/// Whether invocations wait for those of other subgroups.
bool has_barrier(nir_block *block)
{
   nir_foreach_instr(instr, block) {
      if (instr->type == nir_instr_type_intrinsic &&
          nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_barrier &&
          nir_intrinsic_execution_scope(nir_instr_as_intrinsic(instr)) >= SCOPE_WORKGROUP)
         return true;
   }
   return false;
}

/// Limits the loops in a list; returns whether something is in it that no loop around is unrolled for.
bool limit(exec_list *list, const UnrollingLimits &limits)
{
   bool stays = false;
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block:
         stays |= uses_tile(nir_cf_node_as_block(node)) ||
                  (limits.barriers && has_barrier(nir_cf_node_as_block(node)));
         break;
      case nir_cf_node_if:
         stays |= limit(&nir_cf_node_as_if(node)->then_list, limits);
         stays |= limit(&nir_cf_node_as_if(node)->else_list, limits);
         break;
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const bool inside = limit(&loop->body, limits);
         if (inside)
            loop->control = nir_loop_control_dont_unroll;
         else if (loop->control == nir_loop_control_unroll)
            loop->control = nir_loop_control_none;
         stays |= inside;
         break;
      }
      default:
         break;
      }
   }
   return stays;
}

} // namespace

bool limit_unrolling(nir_shader *nir, const UnrollingLimits &limits)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   limit(&impl->body, limits);
   nir_metadata_preserve(impl, nir_metadata_all);
   return false;
}

} // namespace weft
