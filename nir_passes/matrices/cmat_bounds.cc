// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_bounds.h"

#include "nir_passes/matrices/cmat_description.h"

#include "compiler/nir/nir_deref.h"

#include <algorithm>

namespace weft::cmat {

namespace {

nir_def *multiply(nir_builder *b, nir_def *x, nir_def *y)
{
   return nir_bcsel(b, nir_ieq_imm(b, nir_umul_high(b, x, y), 0), nir_imul(b, x, y),
                    nir_imm_int(b, -1));
}

bool indexes(const nir_deref_instr *deref)
{
   return deref->deref_type == nir_deref_type_array ||
          deref->deref_type == nir_deref_type_ptr_as_array;
}

/// A number that does not fit becomes UINT32_MAX, instead of wrapping around 2^32.
nir_def *saturate(nir_builder *b, nir_def *x)
{
   if (x->bit_size <= 32)
      return nir_u2u32(b, x);
   return nir_u2u32(b, nir_umin(b, x, nir_imm_intN_t(b, UINT32_MAX, x->bit_size)));
}

/// Adds in the wider operand's bits: indices are signed.
nir_def *add_indices(nir_builder *b, nir_def *x, nir_def *y)
{
   const unsigned bits = std::max<unsigned>({x->bit_size, y->bit_size, 32});
   return nir_iadd(b, nir_i2iN(b, x, bits), nir_i2iN(b, y, bits));
}

/// The offset of a deref's target from the beginning of its buffer.
nir_def *byte_offset(nir_builder *b, nir_deref_instr *deref)
{
   nir_deref_instr *parent = nir_deref_instr_parent(deref);
   if (!parent)
      return nir_channel(b, deref->parent.ssa, 2);
   if (deref->deref_type == nir_deref_type_cast)
      return byte_offset(b, parent);
   if (deref->deref_type == nir_deref_type_struct) {
      const int field = glsl_get_struct_field_offset(parent->type, deref->strct.index);
      return nir_uadd_sat(b, byte_offset(b, parent), nir_imm_int(b, field));
   }

   assert(indexes(deref));
   const uint32_t stride = nir_deref_instr_array_stride(deref);
   nir_def *index = deref->arr.index.ssa;
   /* OpPtrAccessChain may go backwards, within the same array. */
   while (deref->deref_type == nir_deref_type_ptr_as_array && indexes(parent)) {
      deref = parent;
      parent = nir_deref_instr_parent(deref);
      index = add_indices(b, index, deref->arr.index.ssa);
   }
   /* The pointer may come from a variable; nothing else is known about it then. */
   if (deref->deref_type == nir_deref_type_ptr_as_array && !nir_deref_instr_parent(parent)) {
      nir_def *base = byte_offset(b, parent);
      if (index->bit_size > 32)
         base = nir_u2u64(b, base);
      return saturate(b, add_indices(b, base, nir_imul_imm(b, index, stride)));
   }
   return nir_uadd_sat(b, byte_offset(b, parent),
                       multiply(b, saturate(b, index), nir_imm_int(b, int(stride))));
}

} // namespace

Bounds bounds(nir_builder *b, nir_deref_instr *pointer, nir_def *stride, uint32_t element_bytes)
{
   nir_deref_instr *root = pointer;
   while (nir_deref_instr *parent = nir_deref_instr_parent(root))
      root = parent;
   assert(root->deref_type == nir_deref_type_cast);
   nir_def *index = nir_channels(b, root->parent.ssa, 0b011);
   nir_def *size = _nir_build_get_ssbo_size(b, index, {});
   return {
      .base = byte_offset(b, pointer),
      .end = nir_usub_sat(b, size, nir_imm_int(b, int(element_bytes - 1))),
      .stride = multiply(b, saturate(b, stride), nir_imm_int(b, int(pointee_bytes(pointer)))),
      .element = element_bytes,
   };
}

nir_def *offset(nir_builder *b, const Bounds &bounds, nir_def *line, nir_def *place_in_line)
{
   nir_def *in_matrix = nir_uadd_sat(b, multiply(b, line, bounds.stride),
                                     nir_imul_imm(b, place_in_line, bounds.element));
   return nir_uadd_sat(b, bounds.base, in_matrix);
}

nir_def *is_inside(nir_builder *b, const Bounds &bounds, nir_def *line, nir_def *place_in_line)
{
   return nir_ult(b, offset(b, bounds, line, place_in_line), bounds.end);
}

} // namespace weft::cmat
