// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/emit/alu_table.h"

#include <array>
#include <iterator>

namespace weft::spirv {

namespace {

constexpr uint8_t one_bit = 1, any_integer = 8 | 16 | 32 | 64, any_float = 16 | 32 | 64,
                  small_float = 16 | 32, ///< GLSL.std.450 does not define it for 64 bits
   word = 32,                            ///< Vulkan allows it for 32 bits only
   any_size = any_integer;

constexpr Kind i = Kind::integer, f = Kind::real, b = Kind::boolean;

constexpr AluRule core(nir_op op, uint8_t sizes, Kind from, Kind to, SpvOp instruction)
{
   return {op, sizes, AluForm::plain, from, to, instruction};
}

constexpr AluRule extended(nir_op op, uint8_t sizes, Kind kind, GLSLstd450 instruction)
{
   return {op, sizes, AluForm::plain, kind, kind, SpvOpNop, instruction};
}

constexpr AluRule special(nir_op op, uint8_t sizes, AluForm form, SpvOp instruction = SpvOpNop)
{
   return {op, sizes, form, i, i, instruction};
}

constexpr AluRule and_matrices(AluRule rule)
{
   rule.on_matrices = true;
   return rule;
}

constexpr AluRule rules[] = {
   and_matrices(core(nir_op_fadd, any_float, f, f, SpvOpFAdd)),
   and_matrices(core(nir_op_fsub, any_float, f, f, SpvOpFSub)),
   and_matrices(core(nir_op_fmul, any_float, f, f, SpvOpFMul)),
   and_matrices(core(nir_op_fdiv, any_float, f, f, SpvOpFDiv)),
   and_matrices(core(nir_op_fneg, any_float, f, f, SpvOpFNegate)),
   core(nir_op_frem, any_float, f, f, SpvOpFRem),
   core(nir_op_feq, any_float, f, b, SpvOpFOrdEqual),
   core(nir_op_fneu, any_float, f, b, SpvOpFUnordNotEqual),
   core(nir_op_flt, any_float, f, b, SpvOpFOrdLessThan),
   core(nir_op_fge, any_float, f, b, SpvOpFOrdGreaterThanEqual),
   core(nir_op_fequ, any_float, f, b, SpvOpFUnordEqual),
   core(nir_op_fneo, any_float, f, b, SpvOpFOrdNotEqual),
   core(nir_op_fltu, any_float, f, b, SpvOpFUnordLessThan),
   core(nir_op_fgeu, any_float, f, b, SpvOpFUnordGreaterThanEqual),
   special(nir_op_frcp, any_float, AluForm::reciprocal),
   special(nir_op_fisfinite, any_float, AluForm::is_finite),
   extended(nir_op_fsqrt, any_float, f, GLSLstd450Sqrt),
   extended(nir_op_frsq, any_float, f, GLSLstd450InverseSqrt),
   extended(nir_op_ffma, any_float, f, GLSLstd450Fma),
   extended(nir_op_fabs, any_float, f, GLSLstd450FAbs),
   /* NIR's min and max return the number if the other operand is NaN. */
   extended(nir_op_fmin, any_float, f, GLSLstd450NMin),
   extended(nir_op_fmax, any_float, f, GLSLstd450NMax),
   extended(nir_op_ffloor, any_float, f, GLSLstd450Floor),
   extended(nir_op_fceil, any_float, f, GLSLstd450Ceil),
   extended(nir_op_ftrunc, any_float, f, GLSLstd450Trunc),
   extended(nir_op_fround_even, any_float, f, GLSLstd450RoundEven),
   extended(nir_op_fsin, small_float, f, GLSLstd450Sin),
   extended(nir_op_fcos, small_float, f, GLSLstd450Cos),
   extended(nir_op_fexp2, small_float, f, GLSLstd450Exp2),
   extended(nir_op_flog2, small_float, f, GLSLstd450Log2),
   extended(nir_op_fpow, small_float, f, GLSLstd450Pow),

   and_matrices(core(nir_op_iadd, any_integer, i, i, SpvOpIAdd)),
   core(nir_op_iadd, one_bit, b, b, SpvOpLogicalNotEqual),
   and_matrices(core(nir_op_isub, any_integer, i, i, SpvOpISub)),
   and_matrices(core(nir_op_imul, any_integer, i, i, SpvOpIMul)),
   core(nir_op_imul, one_bit, b, b, SpvOpLogicalAnd),
   and_matrices(core(nir_op_ineg, any_integer, i, i, SpvOpSNegate)),
   and_matrices(core(nir_op_idiv, any_integer, i, i, SpvOpSDiv)),
   and_matrices(core(nir_op_udiv, any_integer, i, i, SpvOpUDiv)),
   core(nir_op_irem, any_integer, i, i, SpvOpSRem),
   core(nir_op_imod, any_integer, i, i, SpvOpSMod),
   core(nir_op_umod, any_integer, i, i, SpvOpUMod),
   core(nir_op_ieq, any_integer, i, b, SpvOpIEqual),
   core(nir_op_ieq, one_bit, b, b, SpvOpLogicalEqual),
   core(nir_op_ine, any_integer, i, b, SpvOpINotEqual),
   core(nir_op_ine, one_bit, b, b, SpvOpLogicalNotEqual),
   core(nir_op_ilt, any_integer, i, b, SpvOpSLessThan),
   core(nir_op_ige, any_integer, i, b, SpvOpSGreaterThanEqual),
   core(nir_op_ult, any_integer, i, b, SpvOpULessThan),
   core(nir_op_uge, any_integer, i, b, SpvOpUGreaterThanEqual),
   core(nir_op_iand, any_integer, i, i, SpvOpBitwiseAnd),
   core(nir_op_iand, one_bit, b, b, SpvOpLogicalAnd),
   core(nir_op_ior, any_integer, i, i, SpvOpBitwiseOr),
   core(nir_op_ior, one_bit, b, b, SpvOpLogicalOr),
   core(nir_op_ixor, any_integer, i, i, SpvOpBitwiseXor),
   core(nir_op_ixor, one_bit, b, b, SpvOpLogicalNotEqual),
   core(nir_op_inot, any_integer, i, i, SpvOpNot),
   core(nir_op_inot, one_bit, b, b, SpvOpLogicalNot),
   extended(nir_op_iabs, any_integer, i, GLSLstd450SAbs),
   extended(nir_op_imin, any_integer, i, GLSLstd450SMin),
   extended(nir_op_imax, any_integer, i, GLSLstd450SMax),
   extended(nir_op_umin, any_integer, i, GLSLstd450UMin),
   core(nir_op_umin, one_bit, b, b, SpvOpLogicalAnd),
   extended(nir_op_umax, any_integer, i, GLSLstd450UMax),
   core(nir_op_umax, one_bit, b, b, SpvOpLogicalOr),
   special(nir_op_ishl, any_integer, AluForm::shift, SpvOpShiftLeftLogical),
   special(nir_op_ishr, any_integer, AluForm::shift, SpvOpShiftRightArithmetic),
   special(nir_op_ushr, any_integer, AluForm::shift, SpvOpShiftRightLogical),
   core(nir_op_bit_count, word, i, i, SpvOpBitCount),
   core(nir_op_bitfield_reverse, word, i, i, SpvOpBitReverse),
   extended(nir_op_find_lsb, word, i, GLSLstd450FindILsb),
   extended(nir_op_ufind_msb, word, i, GLSLstd450FindUMsb),
   special(nir_op_imul_high, word, AluForm::multiply_high, SpvOpSMulExtended),
   special(nir_op_umul_high, word, AluForm::multiply_high, SpvOpUMulExtended),
   special(nir_op_sdot_4x8_iadd, word, AluForm::dot, SpvOpSDot),
   special(nir_op_udot_4x8_uadd, word, AluForm::dot, SpvOpUDot),
   special(nir_op_sudot_4x8_iadd, word, AluForm::dot, SpvOpSUDot),

   /* The condition is the first source. */
   special(nir_op_bcsel, one_bit, AluForm::select),

   special(nir_op_pack_64_2x32, any_size, AluForm::pack),
   special(nir_op_pack_32_2x16, any_size, AluForm::pack),
   special(nir_op_pack_64_4x16, any_size, AluForm::pack),
   special(nir_op_pack_32_4x8, any_size, AluForm::pack),
   special(nir_op_pack_64_2x32_split, any_size, AluForm::pack),
   special(nir_op_pack_32_2x16_split, any_size, AluForm::pack),
   special(nir_op_pack_32_4x8_split, any_size, AluForm::pack),
   special(nir_op_unpack_64_2x32, any_size, AluForm::unpack),
   special(nir_op_unpack_32_2x16, any_size, AluForm::unpack),
   special(nir_op_unpack_64_4x16, any_size, AluForm::unpack),
   special(nir_op_unpack_32_4x8, any_size, AluForm::unpack),
   special(nir_op_unpack_64_2x32_split_x, any_size, AluForm::unpack_first),
   special(nir_op_unpack_32_2x16_split_x, any_size, AluForm::unpack_first),
   special(nir_op_unpack_64_2x32_split_y, any_size, AluForm::unpack_second),
   special(nir_op_unpack_32_2x16_split_y, any_size, AluForm::unpack_second),
   special(nir_op_pack_half_2x16, any_size, AluForm::pack_half),
   special(nir_op_pack_half_2x16_split, any_size, AluForm::pack_half),
   special(nir_op_unpack_half_2x16, any_size, AluForm::unpack_half),
   special(nir_op_unpack_half_2x16_split_x, any_size, AluForm::unpack_half_first),
   special(nir_op_unpack_half_2x16_split_y, any_size, AluForm::unpack_half_second),
};

/// The number of each operation's first rule; for an operation without a rule, the number of all
/// rules.
constexpr auto first_rules = [] {
   std::array<uint8_t, nir_num_opcodes> first;
   static_assert(std::size(rules) < 256);
   first.fill(uint8_t(std::size(rules)));
   for (size_t number = std::size(rules); number-- > 0;)
      first[rules[number].op] = uint8_t(number);
   return first;
}();

} // namespace

std::span<const AluRule> alu_rules()
{
   return rules;
}

const AluRule *find_alu_rule(nir_op op, unsigned bits)
{
   for (const AluRule *rule = rules + first_rules[op]; rule != std::end(rules) && rule->op == op;
        ++rule) {
      if (rule->sizes & bits)
         return rule;
   }
   return nullptr;
}

SpvOp conversion_instruction(nir_op op)
{
   const nir_op_info &info = nir_op_infos[op];
   if (!info.is_conversion)
      return SpvOpNop;
   const nir_alu_type to = nir_alu_type_get_base_type(info.output_type);
   switch (nir_alu_type_get_base_type(info.input_types[0])) {
   case nir_type_float:
      return to == nir_type_float ? SpvOpFConvert
             : to == nir_type_int ? SpvOpConvertFToS
                                  : SpvOpConvertFToU;
   case nir_type_int:
      return to == nir_type_float ? SpvOpConvertSToF : SpvOpSConvert;
   case nir_type_uint:
      return to == nir_type_float ? SpvOpConvertUToF : SpvOpUConvert;
   default:
      return SpvOpNop;
   }
}

} // namespace weft::spirv
