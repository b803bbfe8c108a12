// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/loops/limit_unrolling.h"

#include "nir_passes/loops/loop_control.h"
#include "nir_passes/matrices/cmat_intrinsics.h"

namespace weft {

namespace {

/// Limits the loops in a list; returns whether the list contains tile operations.
bool limit(exec_list *list, bool &changed)
{
   bool tiles = false;
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      switch (node->type) {
      case nir_cf_node_block:
         tiles |= uses_tile(nir_cf_node_as_block(node));
         break;
      case nir_cf_node_if:
         tiles |= limit(&nir_cf_node_as_if(node)->then_list, changed);
         tiles |= limit(&nir_cf_node_as_if(node)->else_list, changed);
         break;
      case nir_cf_node_loop: {
         nir_loop *loop = nir_cf_node_as_loop(node);
         const bool inside = limit(&loop->body, changed);
         if (inside)
            changed |= set_control(loop, nir_loop_control_dont_unroll);
         else if (loop->control == nir_loop_control_unroll)
            changed |= set_control(loop, nir_loop_control_none);
         tiles |= inside;
         break;
      }
      default:
         break;
      }
   }
   return tiles;
}

} // namespace

bool limit_unrolling(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   bool changed = false;
   limit(&impl->body, changed);
   nir_metadata_preserve(impl, nir_metadata_all);
   return changed;
}

} // namespace weft
