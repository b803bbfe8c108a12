// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/passes/lower_small_arithmetic.h"

#include "compiler/nir/nir_builder.h"

namespace weft::spirv {

namespace {

/// Whether the driver has integers of this size.
bool has_integers(const SmallArithmetic &has, unsigned bits)
{
   return bits == 16 ? has.shorts : bits == 8 ? has.bytes : true;
}

bool has_arithmetic(const SmallArithmetic &has, nir_alu_type type, unsigned bits)
{
   const bool is_half_float = bits == 16 && nir_alu_type_get_base_type(type) == nir_type_float;
   return is_half_float ? has.half_floats : has_integers(has, bits);
}

bool is_pack(nir_op op)
{
   switch (op) {
   case nir_op_pack_32_2x16:
   case nir_op_pack_32_2x16_split:
   case nir_op_pack_64_4x16:
   case nir_op_unpack_32_2x16:
   case nir_op_unpack_32_2x16_split_x:
   case nir_op_unpack_32_2x16_split_y:
   case nir_op_unpack_64_4x16:
   case nir_op_pack_32_4x8:
   case nir_op_pack_32_4x8_split:
   case nir_op_unpack_32_4x8:
      return true;
   default:
      return false;
   }
}

/// The size of the arithmetic that replaces an instruction's own; 0: the instruction stays.
unsigned wide_size(const nir_instr *instr, void *data)
{
   const SmallArithmetic &has = *static_cast<const SmallArithmetic *>(data);
   if (instr->type == nir_instr_type_phi)
      return has_integers(has, nir_instr_as_phi(instr)->def.bit_size) ? 0 : 32;
   if (instr->type == nir_instr_type_intrinsic) {
      const nir_intrinsic_instr *intrinsic = nir_instr_as_intrinsic(instr);
      switch (intrinsic->intrinsic) {
      case nir_intrinsic_shuffle:
      case nir_intrinsic_shuffle_up:
      case nir_intrinsic_shuffle_down:
      case nir_intrinsic_shuffle_xor:
      case nir_intrinsic_read_invocation:
      case nir_intrinsic_read_first_invocation:
         return has_integers(has, intrinsic->def.bit_size) ? 0 : 32;
      case nir_intrinsic_reduce:
      case nir_intrinsic_inclusive_scan:
      case nir_intrinsic_exclusive_scan: {
         const auto op = nir_op(nir_intrinsic_reduction_op(intrinsic));
         return has_arithmetic(has, nir_op_infos[op].output_type, intrinsic->def.bit_size) ? 0 : 32;
      }
      case nir_intrinsic_vote_feq:
         return has_arithmetic(has, nir_type_float, intrinsic->src[0].ssa->bit_size) ? 0 : 32;
      default:
         return 0;
      }
   }
   if (instr->type != nir_instr_type_alu)
      return 0;
   const nir_alu_instr *alu = nir_instr_as_alu(instr);
   const nir_op_info &info = nir_op_infos[alu->op];
   if (alu->op == nir_op_mov || nir_op_is_vec(alu->op) || info.is_conversion || is_pack(alu->op))
      return 0;
   bool is_lowered = false, is_half_float = false;
   const auto look_at = [&](nir_alu_type type, unsigned bits) {
      if (nir_alu_type_get_type_size(type) != 0)
         return;
      is_lowered |= !has_integers(has, bits);
      is_half_float |= bits == 16 && nir_alu_type_get_base_type(type) == nir_type_float;
   };
   look_at(info.output_type, alu->def.bit_size);
   for (unsigned i = 0; i < info.num_inputs; i++)
      look_at(info.input_types[i], alu->src[i].src.ssa->bit_size);
   return (is_half_float ? !has.half_floats : is_lowered) ? 32 : 0;
}

nir_def *unpack(nir_builder *b, nir_def *half)
{
   return nir_unpack_half_2x16_split_x(b, nir_u2u32(b, half));
}

/// With `to_zero`, the result is rounded toward zero in any rounding mode of the driver: if the
/// driver rounded away from zero, it is the next smaller number in magnitude.
nir_def *pack(nir_builder *b, nir_def *value, bool to_zero)
{
   nir_def *half = nir_pack_half_2x16_split(b, value, nir_imm_float(b, 0));
   if (to_zero) {
      nir_def *back = nir_unpack_half_2x16_split_x(b, half);
      nir_def *is_too_far = nir_flt(b, nir_fabs(b, value), nir_fabs(b, back));
      half = nir_bcsel(b, is_too_far, nir_iadd_imm(b, half, -1), half);
   }
   return nir_u2u16(b, half);
}

/// Extends a value to 32 bits.
nir_def *widen(nir_builder *b, nir_def *value, bool is_signed)
{
   nir_def *wide = nir_u2u32(b, value);
   if (value->bit_size > 16 || !is_signed)
      return wide;
   const unsigned rest = 32 - value->bit_size;
   return nir_ishr_imm(b, nir_ishl_imm(b, wide, rest), rest);
}

bool lower_conversion(nir_builder *b, nir_alu_instr *alu, void *data)
{
   const SmallArithmetic &has = *static_cast<const SmallArithmetic *>(data);
   const nir_op_info &info = nir_op_infos[alu->op];
   if (!info.is_conversion || alu->op == nir_op_mov)
      return false;
   const nir_alu_type from = nir_alu_type_get_base_type(info.input_types[0]),
                      to = nir_alu_type_get_base_type(info.output_type);
   const unsigned from_bits = alu->src[0].src.ssa->bit_size, to_bits = alu->def.bit_size;
   const auto is_lowered = [&](nir_alu_type type, unsigned bits) {
      return type == nir_type_float ? bits == 16 && !has.half_floats
                                    : type != nir_type_bool && !has_integers(has, bits);
   };
   const bool source = is_lowered(from, from_bits), result = is_lowered(to, to_bits);
   const bool is_basic = alu->op == nir_op_u2u32 ||
                         (from_bits == 32 && (alu->op == nir_op_u2u16 || alu->op == nir_op_u2u8));
   if (is_basic || !(source || result) || (from == nir_type_bool && to != nir_type_float))
      return false;

   b->cursor = nir_before_instr(&alu->instr);
   nir_def *value = nir_ssa_for_alu_src(b, alu, 0);
   if (source)
      value = from == nir_type_float ? unpack(b, value) : widen(b, value, from == nir_type_int);
   if (!result) {
      const auto wide_from = nir_alu_type(from | value->bit_size);
      if (value->bit_size != to_bits || (from == nir_type_float) != (to == nir_type_float))
         value = nir_type_convert(b, value, wide_from, nir_alu_type(to | to_bits),
                                  nir_rounding_mode_undef);
   } else if (to == nir_type_float) {
      if (from == nir_type_bool) {
         value = nir_bcsel(b, value, nir_imm_intN_t(b, 0x3c00, 32), nir_imm_int(b, 0));
         value = nir_u2u16(b, value);
      } else {
         if (from != nir_type_float || value->bit_size != 32)
            value = nir_type_convert(b, value, nir_alu_type(from | value->bit_size),
                                     nir_type_float32, nir_rounding_mode_undef);
         value = pack(b, value, alu->op == nir_op_f2f16_rtz);
      }
   } else {
      value = from == nir_type_float  ? nir_f2i32(b, value)
              : value->bit_size == 32 ? value
                                      : widen(b, value, from == nir_type_int);
      value = nir_u2uN(b, value, to_bits);
   }
   nir_def_rewrite_uses(&alu->def, value);
   nir_instr_remove(&alu->instr);
   return true;
}

} // namespace

bool lower_small_arithmetic(nir_shader *nir, SmallArithmetic has)
{
   if (has.half_floats && has.shorts && has.bytes)
      return false;
   bool progress = nir_lower_bit_size(nir, wide_size, &has);
   progress |= nir_shader_alu_pass(nir, lower_conversion, nir_metadata_control_flow, &has);
   if (progress) {
      nir_copy_prop(nir);
      nir_opt_cse(nir);
      nir_opt_dce(nir);
   }
   return progress;
}

} // namespace weft::spirv
