// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/tensor_whole.h"

#include "nir_passes/matrices/cmat_memory.h"
#include "nir_passes/matrices/cmat_origin.h"
#include "nir_passes/matrices/tensors/tensor_place.h"

#include "compiler/nir/nir_deref.h"
#include "util/u_math.h"

namespace weft {

namespace {

bool may_be_whole(const TensorAccess &a)
{
   return a.layout.dim == 2 && a.view.dim == 2 && !a.view.has_dimensions && !a.decoding.element &&
          !(a.qualifiers & (ACCESS_VOLATILE | ACCESS_COHERENT));
}

bool is_row_major(const TensorAccess &a)
{
   return a.view.permutation[0] == 0;
}

/// The distance of an array's elements in bytes.
unsigned element_bytes(nir_deref_instr *deref)
{
   if (const unsigned stride = nir_deref_instr_array_stride(deref))
      return stride;
   /* Shared memory without an explicit layout. */
   unsigned size, alignment;
   glsl_get_natural_size_align_bytes(deref->type, &size, &alignment);
   return align(size, alignment);
}

/// The bytes that a step of a pointer adds; null if they are a multiple of 16.
nir_def *step_bytes(nir_builder *b, nir_deref_instr *deref)
{
   switch (deref->deref_type) {
   case nir_deref_type_array:
   case nir_deref_type_ptr_as_array:
      return nir_imul_imm(b, nir_u2u32(b, deref->arr.index.ssa), element_bytes(deref));
   case nir_deref_type_struct: {
      /* Negative without a layout, which makes the sum odd. */
      const glsl_type *type = nir_deref_instr_parent(deref)->type;
      return nir_imm_int(b, glsl_get_struct_field_offset(type, deref->strct.index));
   }
   case nir_deref_type_cast: {
      const bool is_address =
         !nir_deref_instr_parent(deref) && nir_deref_mode_is(deref, nir_var_mem_global);
      return is_address ? nir_u2u32(b, deref->parent.ssa) : nullptr;
   }
   default:
      return nullptr;
   }
}

/// A number that is a multiple of a power of two, up to 16, only if the pointer is. Descriptors and
/// variables begin at multiples of 16.
nir_def *misalignment(nir_builder *b, nir_deref_instr *pointer)
{
   nir_def *bits = nir_imm_int(b, 0);
   for (nir_deref_instr *deref = pointer; deref; deref = nir_deref_instr_parent(deref)) {
      if (nir_def *bytes = step_bytes(b, deref))
         bits = nir_ior(b, bits, bytes);
   }
   return bits;
}

/// VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986: pointer and stride are multiples of 16
/// bytes, or of a shorter line.
nir_def *is_aligned(nir_builder *b, const TensorAccess &a, const WholeAccess &whole, unsigned width)
{
   const unsigned bytes = glsl_get_bit_size(a.memory->type) / 8, line = width * bytes;
   const unsigned alignment = line < 16 && util_is_power_of_two_nonzero(line) ? line : 16;
   nir_def *rest = nir_imul_imm(b, nir_ior(b, whole.first, whole.stride), bytes);
   rest = nir_ior(b, rest, misalignment(b, a.memory));
   return nir_ieq_imm(b, nir_iand_imm(b, rest, alignment - 1), 0);
}

} // namespace

std::optional<WholeAccess> whole_access(nir_builder *b, const TensorAccess &a,
                                        const WholeOptions &options)
{
   if (!may_be_whole(a))
      return std::nullopt;
   const TensorLayout &layout = a.layout;
   const bool row_major = is_row_major(a);
   const unsigned rows = a.matrix.rows, cols = a.matrix.cols;
   const unsigned size[2] = {row_major ? rows : cols, row_major ? cols : rows};
   nir_def *stride = layout.stride[0];
   WholeAccess whole = {
      .matrix_layout = row_major ? GLSL_MATRIX_LAYOUT_ROW_MAJOR : GLSL_MATRIX_LAYOUT_COLUMN_MAJOR,
      .first = nir_iadd(b, nir_imul(b, layout.offset[0], stride), layout.offset[1]),
      .stride = stride,
      .applies = nir_ieq_imm(b, layout.stride[1], 1),
   };
   const auto require = [&](nir_def *condition) {
      whole.applies = nir_iand(b, whole.applies, condition);
   };
   for (unsigned i = 0; i < 2; ++i) {
      require(nir_ieq_imm(b, layout.span[i], size[i]));
      require(nir_ieq_imm(b, layout.block_size[i], 1));
      if (layout.clamp_mode == SpvTensorClampModeUndefined)
         continue;
      nir_def *largest_offset = nir_iadd_imm(b, layout.dimension[i], -int(size[i]));
      require(nir_ige(b, largest_offset, layout.offset[i]));
      require(nir_ige_imm(b, layout.offset[i], 0));
   }
   require(is_unclipped(b, a));
   if (options.is_aligned)
      require(is_aligned(b, a, whole, size[1]));
   return whole;
}

void build_whole(nir_builder *b, const TensorAccess &a, const WholeAccess &whole,
                 const WholeOptions &options)
{
   nir_def *index = nir_u2uN(b, whole.first, a.memory->def.bit_size), *stride = whole.stride;
   nir_deref_instr *memory = nir_build_deref_ptr_as_array(b, a.memory, index);
   if (!cmat::is_zero(a.origin)) {
      const cmat::Memory matrix(b, memory, stride, a.matrix, options.robust_access);
      const bool row_major = whole.matrix_layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
      nir_def *line = nir_channel(b, a.origin, row_major ? 0 : 1);
      memory = matrix.element(line, nir_channel(b, a.origin, row_major ? 1 : 0));
      stride = matrix.stride();
   }
   const auto access =
      gl_access_qualifier(a.qualifiers & (ACCESS_NON_TEMPORAL | ACCESS_NON_UNIFORM));
   if (a.is_store)
      _nir_build_cmat_store(b, &memory->def, &a.part->def, stride,
                            {._ = 0, .matrix_layout = whole.matrix_layout, .access = access});
   else
      _nir_build_cmat_load(b, &a.part->def, &memory->def, stride,
                           {._ = 0, .matrix_layout = whole.matrix_layout, .access = access});
}

} // namespace weft
