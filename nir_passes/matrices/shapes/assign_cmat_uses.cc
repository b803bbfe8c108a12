// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/assign_cmat_uses.h"

#include "nir_passes/matrices/cmat_intrinsics.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <array>
#include <initializer_list>
#include <unordered_map>
#include <vector>

namespace weft {

namespace {

const glsl_cmat_description *matrix_of(const glsl_type *type)
{
   const glsl_type *element = glsl_without_array(type);
   return glsl_type_is_cmat(element) ? glsl_get_cmat_description(element) : nullptr;
}

bool has_no_use(const glsl_type *type)
{
   const glsl_cmat_description *desc = matrix_of(type);
   return desc && desc->use == GLSL_CMAT_USE_NONE;
}

/// The type, with this use of its matrices.
const glsl_type *with_use(const glsl_type *type, glsl_cmat_use use)
{
   if (glsl_type_is_array(type))
      return glsl_array_type(with_use(glsl_get_array_element(type), use), glsl_get_length(type), 0);
   glsl_cmat_description desc = *glsl_get_cmat_description(type);
   desc.use = uint8_t(use);
   return glsl_cmat_type(&desc);
}

class Assigner {
public:
   Assigner(nir_shader *nir, MatrixForm form)
       : impl(nir_shader_get_entrypoint(nir)), has_fixed_length(form == MatrixForm::private_tiles)
   {
   }

   bool run()
   {
      nir_foreach_block(block, impl) {
         nir_foreach_instr(instr, block)
            visit(instr);
      }
      bool progress = false;
      for (const auto &[variable, group] : groups) {
         const glsl_cmat_use use = chosen_use(find(group));
         progress |= use != GLSL_CMAT_USE_NONE;
         if (use != GLSL_CMAT_USE_NONE)
            variable->type = with_use(variable->type, use);
      }
      if (progress)
         update_instructions();
      nir_metadata_preserve(impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

private:
   /// Matrices with the same use.
   struct Group {
      size_t parent; ///< the group that it has become a part of, or itself
      std::array<unsigned, 4> votes = {};
      bool keeps_no_use = false;
   };

   size_t find(size_t group) const
   {
      while (list[group].parent != group)
         group = list[group].parent;
      return group;
   }

   void unite(size_t x, size_t y)
   {
      x = find(x);
      y = find(y);
      if (x == y)
         return;
      list[y].parent = x;
      list[x].keeps_no_use |= list[y].keeps_no_use;
      for (size_t i = 0; i < list[x].votes.size(); ++i)
         list[x].votes[i] += list[y].votes[i];
   }

   /// The group of a deref of matrices without a use.
   size_t group_of(nir_deref_instr *deref)
   {
      nir_variable *variable = nir_deref_instr_get_variable(deref);
      const bool is_known = variable && has_no_use(variable->type);
      if (is_known && groups.contains(variable))
         return groups.at(variable);
      list.push_back({list.size()});
      if (is_known)
         groups[variable] = list.size() - 1;
      else
         list.back().keeps_no_use = true; // in a struct
      return list.size() - 1;
   }

   glsl_cmat_use chosen_use(size_t group) const
   {
      const Group &g = list[group];
      glsl_cmat_use best = GLSL_CMAT_USE_NONE;
      unsigned most = 0;
      for (const glsl_cmat_use use :
           {GLSL_CMAT_USE_ACCUMULATOR, GLSL_CMAT_USE_A, GLSL_CMAT_USE_B}) {
         if (g.votes[use] > most) {
            best = use;
            most = g.votes[use];
         }
      }
      return g.keeps_no_use ? GLSL_CMAT_USE_NONE : best;
   }

   void visit(nir_instr *instr)
   {
      if (instr->type == nir_instr_type_deref)
         visit_deref(nir_instr_as_deref(instr));
      else if (instr->type == nir_instr_type_intrinsic)
         visit_intrinsic(nir_instr_as_intrinsic(instr));
   }

   /// A pointer to matrices may only lead to one matrix. The pass does not understand other
   /// operations on the pointer.
   void visit_deref(nir_deref_instr *deref)
   {
      if (!has_no_use(deref->type))
         return;
      const size_t group = group_of(deref);
      nir_foreach_use_including_if(src, &deref->def) {
         const bool understood =
            !nir_src_is_if(src) && (nir_src_parent_instr(src)->type == nir_instr_type_intrinsic ||
                                    is_array_deref(nir_src_parent_instr(src)));
         list[find(group)].keeps_no_use |= !understood;
      }
   }

   static bool is_array_deref(const nir_instr *instr)
   {
      if (instr->type != nir_instr_type_deref)
         return false;
      const nir_deref_type type = nir_instr_as_deref(instr)->deref_type;
      return type == nir_deref_type_array || type == nir_deref_type_array_wildcard;
   }

   void visit_intrinsic(nir_intrinsic_instr *instr)
   {
      std::vector<size_t> without;
      std::vector<glsl_cmat_use> uses;
      for (unsigned i = 0; i < nir_intrinsic_infos[instr->intrinsic].num_srcs; ++i) {
         nir_instr *parent = instr->src[i].ssa->parent_instr;
         if (parent->type != nir_instr_type_deref)
            continue;
         nir_deref_instr *deref = nir_instr_as_deref(parent);
         if (has_no_use(deref->type))
            without.push_back(group_of(deref));
         else if (const glsl_cmat_description *desc = matrix_of(deref->type))
            uses.push_back(glsl_cmat_use(desc->use));
      }
      if (without.empty())
         return;
      for (size_t group : without)
         unite(without[0], group);
      Group &group = list[find(without[0])];
      for (glsl_cmat_use use : uses)
         group.votes[use]++;
      group.keeps_no_use |= !is_understood(instr->intrinsic);
   }

   bool is_understood(nir_intrinsic_op op) const
   {
      if (op == nir_intrinsic_cmat_extract || op == nir_intrinsic_cmat_insert)
         return has_fixed_length;
      return op == nir_intrinsic_cmat_load || op == nir_intrinsic_cmat_store ||
             op == nir_intrinsic_cmat_convert_weft || op == nir_intrinsic_copy_deref ||
             is_cmat_component_operation(op);
   }

   /// Visits blocks in dominance order, so the parent of a deref comes first.
   void update_instructions()
   {
      nir_foreach_block(block, impl) {
         nir_foreach_instr_safe(instr, block) {
            if (instr->type == nir_instr_type_deref)
               update(nir_instr_as_deref(instr));
            else if (instr->type == nir_instr_type_intrinsic)
               update(nir_instr_as_intrinsic(instr));
         }
      }
   }

   static void update(nir_deref_instr *deref)
   {
      if (!has_no_use(deref->type))
         return;
      if (deref->deref_type == nir_deref_type_var)
         deref->type = deref->var->type;
      else if (is_array_deref(&deref->instr))
         deref->type = glsl_get_array_element(nir_deref_instr_parent(deref)->type);
   }

   void update(nir_intrinsic_instr *instr)
   {
      if (instr->intrinsic != nir_intrinsic_cmat_convert_weft)
         return;
      nir_deref_instr *result = nir_src_as_deref(instr->src[0]),
                      *source = nir_src_as_deref(instr->src[1]);
      if (result->type != source->type)
         return;
      nir_builder b = nir_builder_at(nir_before_instr(&instr->instr));
      nir_cmat_copy(&b, &result->def, &source->def);
      nir_instr_remove(&instr->instr);
   }

   nir_function_impl *impl;
   const bool has_fixed_length; ///< the number of components does not depend on the use
   std::unordered_map<nir_variable *, size_t> groups;
   std::vector<Group> list;
};

} // namespace

bool assign_cmat_uses(nir_shader *nir, MatrixForm form)
{
   return Assigner(nir, form).run();
}

} // namespace weft
