// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/loops/unroll_matrix_arrays.h"

#include "nir_passes/loops/loop_control.h"

#include "compiler/glsl_types.h"

#include <set>
#include <vector>

namespace weft {

namespace {

/// Loops over larger arrays stay, because their code would be too long.
constexpr unsigned max_matrices = 64;

/// Finds the loops whose counters influence given values.
class CountingLoops {
public:
   /// Iterative, because chains of computations may be arbitrarily long.
   void add(const nir_def *value)
   {
      std::vector<const nir_instr *> work = {value->parent_instr};
      while (!work.empty()) {
         const nir_instr *instr = work.back();
         work.pop_back();
         if (!seen.insert(instr).second)
            continue;
         if (instr->type == nir_instr_type_phi) {
            nir_cf_node *parent = instr->block->cf_node.parent;
            if (parent->type == nir_cf_node_loop &&
                instr->block == nir_loop_first_block(nir_cf_node_as_loop(parent)))
               loops.insert(nir_cf_node_as_loop(parent));
         } else if (instr->type == nir_instr_type_alu) {
            const nir_alu_instr *alu = nir_instr_as_alu(instr);
            for (unsigned i = 0; i < nir_op_infos[alu->op].num_inputs; ++i)
               work.push_back(alu->src[i].src.ssa->parent_instr);
         }
      }
   }

   bool contains(const nir_loop *loop) const { return loops.contains(loop); }

private:
   std::set<const nir_instr *> seen;
   std::set<const nir_loop *> loops;
};

struct Loops {
   CountingLoops over_arrays;
   std::set<const nir_loop *> around_products;
};

Loops find_loops(nir_function_impl *impl)
{
   Loops loops;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_deref) {
            const nir_deref_instr *deref = nir_instr_as_deref(instr);
            if (deref->deref_type != nir_deref_type_array ||
                !glsl_type_is_cmat(glsl_without_array(deref->type)))
               continue;
            const nir_deref_instr *array = nir_deref_instr_parent(deref);
            if (glsl_get_aoa_size(array->type) <= max_matrices)
               loops.over_arrays.add(deref->arr.index.ssa);
         } else if (instr->type == nir_instr_type_intrinsic &&
                    nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_cmat_muladd) {
            for (const nir_cf_node *node = block->cf_node.parent; node; node = node->parent) {
               if (node->type == nir_cf_node_loop)
                  loops.around_products.insert(
                     nir_cf_node_as_loop(const_cast<nir_cf_node *>(node)));
            }
         }
      }
   }
   return loops;
}

bool mark(exec_list *list, const Loops &loops)
{
   bool changed = false;
   foreach_list_typed(nir_cf_node, node, node, list)
   {
      if (node->type == nir_cf_node_if) {
         changed |= mark(&nir_cf_node_as_if(node)->then_list, loops);
         changed |= mark(&nir_cf_node_as_if(node)->else_list, loops);
      } else if (node->type == nir_cf_node_loop) {
         nir_loop *loop = nir_cf_node_as_loop(node);
         if (loops.over_arrays.contains(loop))
            changed |= set_control(loop, nir_loop_control_unroll);
         else if (loops.around_products.contains(loop) && loop->info->max_trip_count != 1)
            changed |= set_control(loop, nir_loop_control_dont_unroll);
         changed |= mark(&loop->body, loops);
      }
   }
   return changed;
}

} // namespace

bool unroll_matrix_arrays(nir_shader *nir)
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_metadata_require(impl, nir_metadata_loop_analysis, nir_variable_mode(0), false);
   const bool changed = mark(&impl->body, find_loops(impl));
   nir_metadata_preserve(impl, nir_metadata_all);
   return changed;
}

} // namespace weft
