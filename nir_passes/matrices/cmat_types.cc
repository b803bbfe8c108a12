// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_types.h"

#include <utility>
#include <vector>

namespace weft {

nir_deref_instr *rebuild_deref(nir_builder *b, nir_deref_instr *deref)
{
   if (deref->deref_type == nir_deref_type_var)
      return nir_build_deref_var(b, deref->var);
   return nir_build_deref_follower(b, rebuild_deref(b, nir_deref_instr_parent(deref)), deref);
}

CmatTypes::CmatTypes(nir_shader *nir, Lower lower) : lower(std::move(lower))
{
   nir_function_impl *impl = nir_shader_get_entrypoint(nir);
   nir_foreach_function_temp_variable(var, impl)
      replace_type(var);
   nir_foreach_variable_with_modes(var, nir, nir_var_shader_temp)
      replace_type(var);
   if (!any)
      return;
   /* Blocks are visited in dominance order: a deref's parent comes first. */
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_deref)
            replace_type(nir_instr_as_deref(instr));
      }
   }
}

Matrix CmatTypes::operand(const nir_intrinsic_instr *instr, unsigned source) const
{
   nir_deref_instr *deref = nir_src_as_deref(instr->src[source]);
   return {deref, descriptions.at(deref)};
}

void CmatTypes::replace_type(nir_variable *var)
{
   var->type = replacement(var->type);
}

void CmatTypes::replace_type(nir_deref_instr *deref)
{
   if (glsl_type_is_cmat(deref->type))
      descriptions.emplace(deref, *glsl_get_cmat_description(deref->type));

   nir_deref_instr *parent = nir_deref_instr_parent(deref);
   switch (deref->deref_type) {
   case nir_deref_type_var:
      deref->type = deref->var->type;
      break;
   case nir_deref_type_array:
   case nir_deref_type_array_wildcard:
      if (glsl_type_is_array(parent->type))
         deref->type = glsl_get_array_element(parent->type);
      break;
   case nir_deref_type_struct:
      deref->type = glsl_get_struct_field(parent->type, deref->strct.index);
      break;
   case nir_deref_type_cast:
   case nir_deref_type_ptr_as_array:
      deref->type = replacement(deref->type);
      break;
   }
}

const glsl_type *CmatTypes::replacement(const glsl_type *type)
{
   if (glsl_type_is_cmat(type)) {
      any = true;
      return lower(*glsl_get_cmat_description(type));
   }
   if (glsl_type_is_array(type)) {
      const glsl_type *element = glsl_get_array_element(type), *lowered = replacement(element);
      return lowered == element ? type : glsl_array_type(lowered, glsl_get_length(type), 0);
   }
   return glsl_type_is_struct(type) ? struct_replacement(type) : type;
}

const glsl_type *CmatTypes::struct_replacement(const glsl_type *type)
{
   bool changed = false;
   std::vector<glsl_struct_field> fields;
   for (unsigned i = 0; i < glsl_get_length(type); ++i) {
      fields.push_back(*glsl_get_struct_field_data(type, i));
      const glsl_type *lowered = replacement(fields.back().type);
      changed |= lowered != fields.back().type;
      fields.back().type = lowered;
   }
   if (!changed)
      return type;
   return glsl_struct_type(fields.data(), fields.size(), glsl_get_type_name(type), false);
}

} // namespace weft
