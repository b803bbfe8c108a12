// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/split_cmat_structs.h"

#include "compiler/nir/nir_builder.h"

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft {

namespace {

bool has_matrix(const glsl_type *type)
{
   type = glsl_without_array(type);
   if (!glsl_type_is_struct(type))
      return glsl_type_is_cmat(type);
   for (unsigned i = 0; i < glsl_get_length(type); ++i) {
      if (has_matrix(glsl_get_struct_field(type, i)))
         return true;
   }
   return false;
}

/// A struct, or an array of structs.
bool is_of_structs(const glsl_type *type)
{
   return glsl_type_is_struct(glsl_without_array(type));
}

class Splitter {
public:
   explicit Splitter(nir_shader *nir) : b(nir_builder_create(nir_shader_get_entrypoint(nir))) {}

   bool run()
   {
      nir_foreach_function_temp_variable(var, b.impl) {
         if (is_of_structs(var->type) && has_matrix(var->type))
            candidates.insert(var);
      }
      if (!candidates.empty())
         remove_those_used_whole();
      if (candidates.empty()) {
         nir_metadata_preserve(b.impl, nir_metadata_all);
         return false;
      }
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr_safe(instr, block) {
            if (instr->type == nir_instr_type_deref)
               replace(nir_instr_as_deref(instr));
         }
      }
      nir_remove_dead_derefs_impl(b.impl);
      nir_metadata_preserve(b.impl, nir_metadata_control_flow);
      return true;
   }

private:
   /// Removes candidates that are used as a whole struct.
   void remove_those_used_whole()
   {
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_deref)
               continue;
            nir_deref_instr *deref = nir_instr_as_deref(instr);
            if (!is_of_structs(deref->type))
               continue;
            nir_foreach_use_including_if(use, &deref->def) {
               if (!follows(use))
                  candidates.erase(nir_deref_instr_get_variable(deref));
            }
         }
      }
   }

   static bool follows(const nir_src *use)
   {
      if (nir_src_is_if(use) || nir_src_parent_instr(use)->type != nir_instr_type_deref)
         return false;
      const nir_deref_type type = nir_instr_as_deref(nir_src_parent_instr(use))->deref_type;
      return type == nir_deref_type_array || type == nir_deref_type_struct;
   }

   /// Replaces a member that is no struct itself, of a variable that is split.
   void replace(nir_deref_instr *deref)
   {
      nir_variable *whole = nir_deref_instr_get_variable(deref);
      if (!candidates.contains(whole) || deref->deref_type != nir_deref_type_struct ||
          is_of_structs(deref->type))
         return;
      Path path;
      std::vector<nir_deref_instr *> arrays; // from the inside to the outside
      for (nir_deref_instr *d = deref; d->deref_type != nir_deref_type_var;
           d = nir_deref_instr_parent(d)) {
         if (d->deref_type == nir_deref_type_struct)
            path.push_back(d->strct.index);
         else
            arrays.push_back(d);
      }
      b.cursor = nir_before_instr(&deref->instr);
      nir_deref_instr *member =
         nir_build_deref_var(&b, variable_of(whole, path, deref->type, arrays));
      for (auto array = arrays.rbegin(); array != arrays.rend(); ++array)
         member = nir_build_deref_array(&b, member, (*array)->arr.index.ssa);
      nir_def_rewrite_uses(&deref->def, &member->def);
   }

   /// Numbers of members, from the inside to the outside.
   using Path = std::vector<unsigned>;

   nir_variable *variable_of(nir_variable *whole, const Path &path, const glsl_type *type,
                             const std::vector<nir_deref_instr *> &arrays)
   {
      nir_variable *&variable = variables[{whole, path}];
      if (!variable) {
         for (nir_deref_instr *array : arrays)
            type = glsl_array_type(type, glsl_get_length(nir_deref_instr_parent(array)->type), 0);
         std::string name = whole->name ? whole->name : "struct";
         for (auto member = path.rbegin(); member != path.rend(); ++member)
            name += "_" + std::to_string(*member);
         variable = nir_local_variable_create(b.impl, type, name.c_str());
      }
      return variable;
   }

   nir_builder b;
   std::unordered_set<const nir_variable *> candidates;
   std::map<std::pair<nir_variable *, Path>, nir_variable *> variables;
};

} // namespace

bool split_cmat_structs(nir_shader *nir)
{
   return Splitter(nir).run();
}

} // namespace weft
