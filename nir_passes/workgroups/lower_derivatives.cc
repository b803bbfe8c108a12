// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/lower_derivatives.h"

#include "nir_passes/implicit_gradients.h"

#include "compiler/nir/nir_builder.h"

namespace weft {

namespace {

enum class Axis { x = 1, y = 2 }; ///< the distance of neighbours along it within a quad

/// One difference for all four invocations.
nir_def *coarse_derivative(nir_builder *b, nir_def *value, Axis axis)
{
   const auto of = [&](unsigned invocation) {
      return nir_quad_broadcast(b, value, nir_imm_int(b, int(invocation)));
   };
   return nir_fsub(b, of(unsigned(axis)), of(0));
}

/// The difference of the invocation's own row or column.
nir_def *fine_derivative(nir_builder *b, nir_def *value, Axis axis)
{
   nir_def *other =
      axis == Axis::x ? nir_quad_swap_horizontal(b, value) : nir_quad_swap_vertical(b, value);
   nir_def *is_second = nir_test_mask(b, nir_load_subgroup_invocation(b), unsigned(axis));
   return nir_bcsel(b, is_second, nir_fsub(b, value, other), nir_fsub(b, other, value));
}

nir_def *derivative(nir_builder *b, const nir_intrinsic_instr *instr)
{
   nir_def *value = instr->src[0].ssa;
   switch (instr->intrinsic) {
   case nir_intrinsic_ddx:
   case nir_intrinsic_ddx_coarse:
      return coarse_derivative(b, value, Axis::x);
   case nir_intrinsic_ddy:
   case nir_intrinsic_ddy_coarse:
      return coarse_derivative(b, value, Axis::y);
   case nir_intrinsic_ddx_fine:
      return fine_derivative(b, value, Axis::x);
   case nir_intrinsic_ddy_fine:
      return fine_derivative(b, value, Axis::y);
   default:
      return nullptr;
   }
}

bool lower_intrinsic(nir_builder *b, nir_intrinsic_instr *instr)
{
   b->cursor = nir_before_instr(&instr->instr);
   nir_def *value = derivative(b, instr);
   if (value)
      nir_def_replace(&instr->def, value);
   return value;
}

bool lower_sample(nir_builder *b, nir_tex_instr *tex)
{
   if (tex->op != nir_texop_tex && tex->op != nir_texop_txb && tex->op != nir_texop_lod)
      return false;
   b->cursor = nir_before_instr(&tex->instr);
   nir_def *coordinates = tex->src[nir_tex_instr_src_index(tex, nir_tex_src_coord)].src.ssa;
   /* Samples have the layer as their last coordinate; queries do not take it. */
   const bool has_layer = tex->is_array && tex->op != nir_texop_lod;
   coordinates = nir_trim_vector(b, coordinates, tex->coord_components - has_layer);
   nir_def *x = coarse_derivative(b, coordinates, Axis::x);
   nir_def *y = coarse_derivative(b, coordinates, Axis::y);
   nir_tex_instr_add_src(tex, implicit_ddx, x);
   nir_tex_instr_add_src(tex, implicit_ddy, y);
   return true;
}

bool lower_instr(nir_builder *b, nir_instr *instr, void *)
{
   switch (instr->type) {
   case nir_instr_type_intrinsic:
      return lower_intrinsic(b, nir_instr_as_intrinsic(instr));
   case nir_instr_type_tex:
      return lower_sample(b, nir_instr_as_tex(instr));
   default:
      return false;
   }
}

} // namespace

bool lower_derivatives(nir_shader *nir)
{
   if (nir->info.derivative_group == DERIVATIVE_GROUP_NONE)
      return false;
   return nir_shader_instructions_pass(nir, lower_instr, nir_metadata_control_flow, nullptr);
}

} // namespace weft
