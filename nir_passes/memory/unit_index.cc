// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/unit_index.h"

namespace weft {

namespace {

/// Bounds the recursion: a walk over nested sums visits shared operands repeatedly.
constexpr unsigned max_depth = 8;

nir_def *divide(nir_builder *b, nir_scalar value, unsigned log2, unsigned depth)
{
   const unsigned bits = value.def->bit_size;
   if (nir_scalar_is_const(value)) {
      const int64_t number = nir_scalar_as_int(value);
      return number & ((1 << log2) - 1) ? nullptr : nir_imm_intN_t(b, number >> log2, bits);
   }
   if (depth == 0 || !nir_scalar_is_alu(value))
      return nullptr;

   const nir_scalar x = nir_scalar_chase_alu_src(value, 0);
   switch (nir_scalar_alu_op(value)) {
   case nir_op_iadd: {
      nir_def *left = divide(b, x, log2, depth - 1);
      nir_def *right =
         left ? divide(b, nir_scalar_chase_alu_src(value, 1), log2, depth - 1) : nullptr;
      return right ? nir_iadd(b, left, right) : nullptr;
   }
   case nir_op_imul: {
      const nir_scalar y = nir_scalar_chase_alu_src(value, 1);
      if (nir_def *right = nir_scalar_is_const(y) ? divide(b, y, log2, 1) : nullptr)
         return nir_imul(b, nir_channel(b, x.def, x.comp), right);
      if (nir_def *left = divide(b, x, log2, depth - 1))
         return nir_imul(b, left, nir_channel(b, y.def, y.comp));
      return nullptr;
   }
   case nir_op_ishl: {
      const nir_scalar y = nir_scalar_chase_alu_src(value, 1);
      if (!nir_scalar_is_const(y))
         return nullptr;
      const unsigned shift = nir_scalar_as_uint(y) & (bits - 1);
      return shift >= log2 ? nir_ishl_imm(b, nir_channel(b, x.def, x.comp), shift - log2)
                           : divide(b, x, log2 - shift, depth - 1);
   }
   default:
      return nullptr;
   }
}

} // namespace

nir_def *unit_index(nir_builder *b, nir_def *offset, unsigned log2_unit)
{
   if (log2_unit == 0)
      return offset;
   if (nir_def *index = divide(b, nir_scalar_resolved(offset, 0), log2_unit, max_depth))
      return index;
   return nir_ushr_imm(b, offset, log2_unit);
}

} // namespace weft
