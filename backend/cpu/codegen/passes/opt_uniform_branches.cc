// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/passes/opt_uniform_branches.h"

#include "backend/cpu/codegen/facts/control_flow.h"

#include "nir_passes/matrices/cmat_intrinsics.h"

#include "compiler/nir/nir_builder.h"

#include <vector>

namespace weft::cpu {

namespace {

/// Whether the instruction stands where the program has a matrix operation. Packs of private tiles
/// do not count: passes may have moved them.
bool is_matrix_operation(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
   switch (intr->intrinsic) {
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
   case nir_intrinsic_tile_muladd_weft:
      return true;
   case nir_intrinsic_tile_pack_weft:
      return nir_intrinsic_memory_modes(intr) != nir_var_function_temp;
   default:
      return false;
   }
}

bool has_matrix_operation(nir_block *block)
{
   nir_foreach_instr(instr, block) {
      if (is_matrix_operation(instr))
         return true;
   }
   return false;
}

enum class Reaches { operation, jump, end };

/// The kind of node that lanes reach first when they execute `node` and its successors.
Reaches first_reached(nir_cf_node *node)
{
   for (; node; node = nir_cf_node_next(node)) {
      if (node->type == nir_cf_node_block && has_matrix_operation(nir_cf_node_as_block(node)))
         return Reaches::operation;
      if (node->type == nir_cf_node_loop) {
         // A jump in an inner loop ends only that loop; lanes continue behind it.
         nir_block *first = nir_loop_first_block(nir_cf_node_as_loop(node));
         if (first_reached(&first->cf_node) == Reaches::operation)
            return Reaches::operation;
      } else if (contains_jump(node)) {
         return Reaches::jump;
      }
   }
   return Reaches::end;
}

bool begins_with_operation(exec_list *list)
{
   return first_reached(exec_node_data(nir_cf_node, exec_list_get_head(list), node)) ==
          Reaches::operation;
}

/// Whether all lanes on one side of an if jump, while lanes on the other side execute a matrix
/// operation behind the if before they can jump.
bool keeps_from_operation(nir_if *nif)
{
   if (!nir_block_ends_in_jump(nir_if_last_then_block(nif)) &&
       !nir_block_ends_in_jump(nir_if_last_else_block(nif)))
      return false;
   for (nir_cf_node *node = &nif->cf_node; node->type == nir_cf_node_if; node = node->parent) {
      const Reaches reached = first_reached(nir_cf_node_next(node));
      if (reached != Reaches::end)
         return reached == Reaches::operation;
   }
   return false;
}

} // namespace

bool opt_uniform_branches(nir_shader *shader)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(shader);
   std::vector<nir_if *> found;
   nir_foreach_block(block, impl) {
      nir_if *nif = nir_block_get_following_if(block);
      if (nif && nir_src_is_divergent(&nif->condition) &&
          (begins_with_operation(&nif->then_list) || begins_with_operation(&nif->else_list) ||
           keeps_from_operation(nif)))
         found.push_back(nif);
   }
   nir_builder b = nir_builder_create(impl);
   for (nir_if *nif : found) {
      b.cursor = nir_before_src(&nif->condition);
      nir_src_rewrite(&nif->condition, nir_read_first_invocation(&b, nif->condition.ssa));
   }
   nir_metadata_preserve(impl, found.empty() ? nir_metadata_all : nir_metadata_control_flow);
   return !found.empty();
}

} // namespace weft::cpu
