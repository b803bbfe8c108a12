// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/tensor_access.h"

#include "nir_passes/matrices/cmat_callee.h"

#include "util/u_math.h"

namespace weft {

namespace {

/// A component of a vector as a value of its own.
nir_def *component(nir_builder *b, nir_def *vector, unsigned i)
{
   const nir_scalar scalar = nir_scalar_resolved(vector, i);
   return nir_scalar_is_const(scalar) ? nir_imm_int(b, nir_scalar_as_int(scalar))
                                      : nir_channel(b, scalar.def, scalar.comp);
}

TensorNumbers numbers(nir_builder *b, const nir_src &vector)
{
   TensorNumbers list = {};
   for (unsigned i = 0; i < nir_src_num_components(vector); ++i)
      list[i] = component(b, vector.ssa, i);
   return list;
}

TensorLayout layout(nir_builder *b, const nir_src &source)
{
   const nir_intrinsic_instr *instr = nir_instr_as_intrinsic(source.ssa->parent_instr);
   assert(instr->intrinsic == nir_intrinsic_cmat_tensor_layout_weft);
   return {
      .dim = instr->num_components,
      .clamp_mode = SpvTensorClampMode(nir_intrinsic_clamp_mode(instr)),
      .block_size = numbers(b, instr->src[0]),
      .dimension = numbers(b, instr->src[1]),
      .stride = numbers(b, instr->src[2]),
      .offset = numbers(b, instr->src[3]),
      .span = numbers(b, instr->src[4]),
      .clamp_value = instr->src[5].ssa,
   };
}

TensorView view(nir_builder *b, const nir_src &source)
{
   const nir_intrinsic_instr *instr = nir_instr_as_intrinsic(source.ssa->parent_instr);
   assert(instr->intrinsic == nir_intrinsic_cmat_tensor_view_weft);
   TensorView view = {
      .dim = instr->num_components,
      .has_dimensions = nir_intrinsic_has_dimensions(instr),
      .permutation = {},
      .dimension = numbers(b, instr->src[0]),
      .stride = numbers(b, instr->src[1]),
      .clip = {component(b, instr->src[2].ssa, 0), component(b, instr->src[2].ssa, 1),
               component(b, instr->src[2].ssa, 2), component(b, instr->src[2].ssa, 3)},
   };
   for (unsigned i = 0; i < view.dim; ++i)
      view.permutation[i] = weft_permuted_dimension(nir_intrinsic_permutation(instr), i);
   return view;
}

/// The memory as an array. nir_opt_deref() removes a cast to the type that the pointer has anyway,
/// and with it the stride.
nir_deref_instr *as_array(nir_builder *b, nir_deref_instr *memory, bool has_blocks)
{
   unsigned stride;
   if (has_blocks) {
      unsigned size, alignment;
      glsl_get_natural_size_align_bytes(memory->type, &size, &alignment);
      stride = align(glsl_get_explicit_size(memory->type, false), alignment);
   } else {
      stride = glsl_get_bit_size(memory->type) / 8;
   }
   return nir_build_deref_cast(b, &memory->def, memory->modes, memory->type, stride);
}

} // namespace

bool is_tensor_access(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_cmat_load_tensor_weft ||
          instr->intrinsic == nir_intrinsic_cmat_store_tensor_weft;
}

TensorAccess tensor_access(nir_builder *b, nir_intrinsic_instr *instr)
{
   const bool is_store = instr->intrinsic == nir_intrinsic_cmat_store_tensor_weft;
   const nir_src *matrix = &instr->src[is_store ? 1 : 0], *memory = &instr->src[is_store ? 0 : 2],
                 *others = &instr->src[is_store ? 2 : 3];
   TensorAccess access = {};
   access.is_store = is_store;
   access.matrix = nir_intrinsic_cmat_desc(instr);
   access.layout = layout(b, others[0]);
   access.view = view(b, others[1]);
   access.part = nir_src_as_deref(*matrix);
   access.part_desc = *glsl_get_cmat_description(access.part->type);
   access.origin = others[2].ssa;
   access.object = is_store ? nullptr : nir_src_as_deref(instr->src[1]);
   if (!is_store) {
      access.decoding.element = callee_of(b->shader, instr);
      access.decoding.run = run_callee_of(b->shader, instr);
      access.decoding.run_length = nir_intrinsic_run_length(instr);
   }
   access.memory = as_array(b, nir_src_as_deref(*memory), access.decoding.element);
   access.qualifiers = nir_intrinsic_access(instr);
   return access;
}

} // namespace weft
