/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_bit_fields.h"

/* As an unsigned 32-bit number: all of NIR's shift counts. */
static nir_def *shift_count(struct vtn_builder *b, uint32_t id)
{
   return nir_u2u32(&b->nb, vtn_get_nir_ssa(b, id));
}

/* 0 if no bit is in the field: NIR shifts by the count modulo the size. */
static nir_def *zero_if_empty(nir_builder *nb, nir_def *count, nir_def *value)
{
   return nir_bcsel(nb, nir_ieq_imm(nb, count, 0), nir_imm_zero(nb, 1, value->bit_size), value);
}

/* `count` ones at the lower end. */
static nir_def *ones(nir_builder *nb, nir_def *count, unsigned bits)
{
   nir_def *all = nir_imm_intN_t(nb, -1, bits);
   return zero_if_empty(nb, count, nir_ushr(nb, all, nir_isub_imm(nb, bits, count)));
}

static nir_def *insert(struct vtn_builder *b, nir_def *base, nir_def *field, nir_def *offset,
                       nir_def *count)
{
   nir_builder *nb = &b->nb;
   nir_def *mask = nir_ishl(nb, ones(nb, count, base->bit_size), offset);
   return nir_ior(nb, nir_iand(nb, base, nir_inot(nb, mask)),
                  nir_iand(nb, nir_ishl(nb, field, offset), mask));
}

static nir_def *extract(struct vtn_builder *b, nir_def *base, nir_def *offset, nir_def *count,
                        bool is_signed)
{
   nir_builder *nb = &b->nb;
   const unsigned bits = base->bit_size;
   if (!is_signed)
      return nir_iand(nb, nir_ushr(nb, base, offset), ones(nb, count, bits));
   nir_def *above = nir_isub_imm(nb, bits, nir_iadd(nb, offset, count));
   nir_def *value = nir_ishr(nb, nir_ishl(nb, base, above), nir_isub_imm(nb, bits, count));
   return zero_if_empty(nb, count, value);
}

static nir_def *reverse(struct vtn_builder *b, nir_def *base)
{
   nir_builder *nb = &b->nb;
   if (base->bit_size < 32)
      return nir_u2uN(
         nb, nir_ushr_imm(nb, nir_bitfield_reverse(nb, nir_u2u32(nb, base)), 32 - base->bit_size),
         base->bit_size);
   nir_def *low = nir_bitfield_reverse(nb, nir_unpack_64_2x32_split_x(nb, base)),
           *high = nir_bitfield_reverse(nb, nir_unpack_64_2x32_split_y(nb, base));
   return nir_pack_64_2x32_split(nb, high, low);
}

bool weft_handle_bit_fields(struct vtn_builder *b, uint32_t opcode, const uint32_t *w)
{
   if (opcode != SpvOpBitFieldInsert && opcode != SpvOpBitFieldSExtract &&
       opcode != SpvOpBitFieldUExtract && opcode != SpvOpBitReverse)
      return false;
   nir_def *base = vtn_get_nir_ssa(b, w[3]);
   if (base->bit_size == 32)
      return false;
   nir_def *result;
   if (opcode == SpvOpBitReverse)
      result = reverse(b, base);
   else if (opcode == SpvOpBitFieldInsert)
      result =
         insert(b, base, vtn_get_nir_ssa(b, w[4]), shift_count(b, w[5]), shift_count(b, w[6]));
   else
      result = extract(b, base, shift_count(b, w[4]), shift_count(b, w[5]),
                       opcode == SpvOpBitFieldSExtract);
   vtn_push_nir_ssa(b, w[2], result);
   return true;
}
