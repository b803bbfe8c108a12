// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_cmat_per_element.h"

#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_components.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/cmat_origin.h"

#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <vector>

namespace weft {

namespace {

/// The nodes of a list of arguments, from the first on.
std::vector<const nir_intrinsic_instr *> arguments_of(const nir_intrinsic_instr *operation)
{
   std::vector<const nir_intrinsic_instr *> list;
   const nir_instr *instr = operation->src[2].ssa->parent_instr;
   while (instr->type == nir_instr_type_intrinsic) {
      list.push_back(nir_instr_as_intrinsic(instr));
      instr = list.back()->src[0].ssa->parent_instr;
   }
   return list;
}

bool takes_whole_matrix(const nir_intrinsic_instr *operation)
{
   return std::ranges::any_of(arguments_of(operation), [](const nir_intrinsic_instr *node) {
      const nir_deref_instr *deref = nir_src_as_deref(node->src[1]);
      return node->intrinsic == nir_intrinsic_cmat_argument_weft && deref &&
             glsl_type_is_cmat(deref->type);
   });
}

nir_def *component(nir_builder *b, nir_deref_instr *matrix, nir_def *number)
{
   const unsigned bits = component_bits(*glsl_get_cmat_description(matrix->type));
   return nir_cmat_extract(b, bits, &matrix->def, number);
}

void lower(nir_builder *b, const nir_intrinsic_instr *instr)
{
   nir_deref_instr *result = nir_src_as_deref(instr->src[0]),
                   *source = nir_src_as_deref(instr->src[1]);
   nir_function *function = callee_of(b->shader, instr);
   const glsl_cmat_description desc = *glsl_get_cmat_description(result->type);
   const glsl_type *type = glsl_scalar_type(glsl_base_type(desc.element_type));
   const std::vector<const nir_intrinsic_instr *> nodes = arguments_of(instr);
   cmat::for_each_component(b, desc, [&](nir_def *number, nir_def *at) {
      const cmat::Coordinates element = cmat::in_whole(b, instr->src[3].ssa, at);
      std::vector<nir_def *> arguments = {element.row, element.col, component(b, source, number)};
      for (const nir_intrinsic_instr *node : nodes) {
         const bool is_element = node->intrinsic == nir_intrinsic_cmat_element_argument_weft;
         arguments.push_back(is_element ? component(b, nir_src_as_deref(node->src[1]), number)
                                        : node->src[1].ssa);
      }
      nir_def *value = call_function(b, function, type, arguments);
      nir_cmat_insert(b, &result->def, value, &result->def, number);
   });
}

bool lower_operation(nir_builder *b, nir_intrinsic_instr *instr, void *data)
{
   const auto which = *static_cast<const PerElementOps *>(data);
   if (instr->intrinsic != nir_intrinsic_cmat_per_element_weft ||
       (which == PerElementOps::of_whole_matrices && !takes_whole_matrix(instr)))
      return false;
   b->cursor = nir_before_instr(&instr->instr);
   lower(b, instr);
   nir_instr_remove(&instr->instr);
   return true;
}

} // namespace

bool lower_cmat_per_element(nir_shader *nir, PerElementOps which)
{
   return nir_shader_intrinsics_pass(nir, lower_operation, nir_metadata_none, &which);
}

} // namespace weft
