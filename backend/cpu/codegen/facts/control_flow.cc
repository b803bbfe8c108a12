// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/control_flow.h"

namespace weft::cpu {

namespace {

const nir_loop *loop_around(const nir_cf_node *node)
{
   while (node && node->type != nir_cf_node_loop)
      node = node->parent;
   return node ? nir_cf_node_as_loop(const_cast<nir_cf_node *>(node)) : nullptr;
}

} // namespace

const nir_loop *innermost_loop(const nir_instr *instr)
{
   return loop_around(&instr->block->cf_node);
}

bool contains_jump(nir_cf_node *node)
{
   if (node->type == nir_cf_node_block)
      return nir_block_ends_in_jump(nir_cf_node_as_block(node));
   if (node->type != nir_cf_node_if)
      return false;
   nir_if *nif = nir_cf_node_as_if(node);
   return contains_jump(&nif->then_list) || contains_jump(&nif->else_list);
}

bool contains_jump(exec_list *list)
{
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      if (contains_jump(node))
         return true;
   }
   return false;
}

bool is_control_barrier(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
   return intrinsic->intrinsic == nir_intrinsic_barrier &&
          nir_intrinsic_execution_scope(intrinsic) >= SCOPE_WORKGROUP;
}

bool runs_again(const nir_loop *loop)
{
   return nir_loop_first_block(const_cast<nir_loop *>(loop))->predecessors->entries > 1;
}

bool has_control_barrier(const nir_loop *loop)
{
   nir_foreach_block_in_cf_node(block, &const_cast<nir_loop *>(loop)->cf_node)
   {
      nir_foreach_instr(instr, block) {
         if (is_control_barrier(instr))
            return true;
      }
   }
   return false;
}

const nir_loop *innermost_repeated_loop(const nir_instr *instr)
{
   const nir_loop *loop = innermost_loop(instr);
   while (loop && !runs_again(loop))
      loop = loop_around(loop->cf_node.parent);
   return loop;
}

const nir_loop *innermost_barrier_loop(const nir_instr *instr)
{
   const nir_loop *loop = innermost_loop(instr);
   while (loop && !has_control_barrier(loop))
      loop = loop_around(loop->cf_node.parent);
   return loop;
}

} // namespace weft::cpu
