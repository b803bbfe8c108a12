// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Arithmetic, which a NIR pass has made scalar. Integers are unsigned; the opcode makes an
/// operation signed, as SPIR-V defines for all of them.

#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/translator.h"

#include "compiler/spirv/GLSL.std.450.h"

#include <algorithm>

namespace weft::spirv {

namespace {

/// An operation that is one instruction: the kinds of its operands and its result, and the opcode.
struct Simple {
   Kind from, to;
   SpvOp op;
   GLSLstd450 extended; ///< used in place of the opcode if not 0
};

constexpr Simple core(Kind from, Kind to, SpvOp op)
{
   return {from, to, op, GLSLstd450(0)};
}

constexpr Simple extended(Kind kind, GLSLstd450 op)
{
   return {kind, kind, SpvOpNop, op};
}

constexpr Simple none = {Kind::integer, Kind::integer, SpvOpNop, GLSLstd450(0)};

Simple find_float(nir_op op)
{
   constexpr Kind f = Kind::real, b = Kind::boolean;
   switch (op) {
   case nir_op_fadd:
      return core(f, f, SpvOpFAdd);
   case nir_op_fsub:
      return core(f, f, SpvOpFSub);
   case nir_op_fmul:
      return core(f, f, SpvOpFMul);
   case nir_op_fdiv:
      return core(f, f, SpvOpFDiv);
   case nir_op_fneg:
      return core(f, f, SpvOpFNegate);
   case nir_op_frem:
      return core(f, f, SpvOpFRem);
   case nir_op_feq:
      return core(f, b, SpvOpFOrdEqual);
   case nir_op_fneu:
      return core(f, b, SpvOpFUnordNotEqual);
   case nir_op_flt:
      return core(f, b, SpvOpFOrdLessThan);
   case nir_op_fge:
      return core(f, b, SpvOpFOrdGreaterThanEqual);
   case nir_op_fequ:
      return core(f, b, SpvOpFUnordEqual);
   case nir_op_fneo:
      return core(f, b, SpvOpFOrdNotEqual);
   case nir_op_fltu:
      return core(f, b, SpvOpFUnordLessThan);
   case nir_op_fgeu:
      return core(f, b, SpvOpFUnordGreaterThanEqual);
   case nir_op_fsqrt:
      return extended(f, GLSLstd450Sqrt);
   case nir_op_frsq:
      return extended(f, GLSLstd450InverseSqrt);
   case nir_op_ffma:
      return extended(f, GLSLstd450Fma);
   case nir_op_fabs:
      return extended(f, GLSLstd450FAbs);
   /* NIR's min and max return the number if the other operand is NaN. */
   case nir_op_fmin:
      return extended(f, GLSLstd450NMin);
   case nir_op_fmax:
      return extended(f, GLSLstd450NMax);
   case nir_op_ffloor:
      return extended(f, GLSLstd450Floor);
   case nir_op_fceil:
      return extended(f, GLSLstd450Ceil);
   case nir_op_ftrunc:
      return extended(f, GLSLstd450Trunc);
   case nir_op_fround_even:
      return extended(f, GLSLstd450RoundEven);
   case nir_op_fsin:
      return extended(f, GLSLstd450Sin);
   case nir_op_fcos:
      return extended(f, GLSLstd450Cos);
   case nir_op_fexp2:
      return extended(f, GLSLstd450Exp2);
   case nir_op_flog2:
      return extended(f, GLSLstd450Log2);
   case nir_op_fpow:
      return extended(f, GLSLstd450Pow);
   default:
      return none;
   }
}

Simple find_integer(nir_op op)
{
   constexpr Kind i = Kind::integer, b = Kind::boolean;
   switch (op) {
   case nir_op_iadd:
      return core(i, i, SpvOpIAdd);
   case nir_op_isub:
      return core(i, i, SpvOpISub);
   case nir_op_imul:
      return core(i, i, SpvOpIMul);
   case nir_op_ineg:
      return core(i, i, SpvOpSNegate);
   case nir_op_idiv:
      return core(i, i, SpvOpSDiv);
   case nir_op_udiv:
      return core(i, i, SpvOpUDiv);
   case nir_op_irem:
      return core(i, i, SpvOpSRem);
   case nir_op_imod:
      return core(i, i, SpvOpSMod);
   case nir_op_umod:
      return core(i, i, SpvOpUMod);
   case nir_op_ieq:
      return core(i, b, SpvOpIEqual);
   case nir_op_ine:
      return core(i, b, SpvOpINotEqual);
   case nir_op_ilt:
      return core(i, b, SpvOpSLessThan);
   case nir_op_ige:
      return core(i, b, SpvOpSGreaterThanEqual);
   case nir_op_ult:
      return core(i, b, SpvOpULessThan);
   case nir_op_uge:
      return core(i, b, SpvOpUGreaterThanEqual);
   case nir_op_iand:
      return core(i, i, SpvOpBitwiseAnd);
   case nir_op_ior:
      return core(i, i, SpvOpBitwiseOr);
   case nir_op_ixor:
      return core(i, i, SpvOpBitwiseXor);
   case nir_op_inot:
      return core(i, i, SpvOpNot);
   case nir_op_bit_count:
      return core(i, i, SpvOpBitCount);
   case nir_op_bitfield_reverse:
      return core(i, i, SpvOpBitReverse);
   case nir_op_iabs:
      return extended(i, GLSLstd450SAbs);
   case nir_op_imin:
      return extended(i, GLSLstd450SMin);
   case nir_op_imax:
      return extended(i, GLSLstd450SMax);
   case nir_op_umin:
      return extended(i, GLSLstd450UMin);
   case nir_op_umax:
      return extended(i, GLSLstd450UMax);
   case nir_op_find_lsb:
      return extended(i, GLSLstd450FindILsb);
   case nir_op_ufind_msb:
      return extended(i, GLSLstd450FindUMsb);
   default:
      return none;
   }
}

Simple find_boolean(nir_op op)
{
   constexpr Kind b = Kind::boolean;
   switch (op) {
   case nir_op_iand:
   case nir_op_imul:
   case nir_op_umin:
      return core(b, b, SpvOpLogicalAnd);
   case nir_op_ior:
   case nir_op_umax:
      return core(b, b, SpvOpLogicalOr);
   case nir_op_ixor:
   case nir_op_ine:
   case nir_op_iadd:
      return core(b, b, SpvOpLogicalNotEqual);
   case nir_op_ieq:
      return core(b, b, SpvOpLogicalEqual);
   case nir_op_inot:
      return core(b, b, SpvOpLogicalNot);
   default:
      return none;
   }
}

bool is_none(const Simple &s)
{
   return s.op == SpvOpNop && s.extended == GLSLstd450(0);
}

uint64_t float_one(unsigned bits)
{
   return bits == 16 ? 0x3c00 : bits == 32 ? 0x3f800000 : 0x3ff0000000000000;
}

uint64_t float_infinity(unsigned bits)
{
   return bits == 16 ? 0x7c00 : bits == 32 ? 0x7f800000 : 0x7ff0000000000000;
}

/// Translates one NIR instruction.
class Alu {
public:
   Alu(Translator &t, nir_alu_instr *alu) : t(t), alu(*alu), bits(alu->def.bit_size) {}

   void emit()
   {
      if (alu.op == nir_op_mov || nir_op_is_vec(alu.op))
         return emit_copy();
      if (emit_pack())
         return;
      if (alu.def.num_components > 1)
         return t.fail(std::string("the operation ") + nir_op_infos[alu.op].name +
                       " of vectors is not supported");
      const Simple simple = find();
      if (!is_none(simple))
         return emit_simple(simple);
      if (nir_op_infos[alu.op].is_conversion)
         return emit_conversion();
      emit_other();
   }

private:
   nir_scalar source(unsigned i, unsigned component = 0) const
   {
      return nir_scalar_resolved(alu.src[i].src.ssa, alu.src[i].swizzle[component]);
   }

   unsigned source_bits(unsigned i) const { return alu.src[i].src.ssa->bit_size; }

   Id get(unsigned i, Kind kind) const { return t.get(source(i), kind); }

   void define(Id id, Kind kind) const
   {
      if (kind == Kind::real && alu.exact)
         t.m.decorate(id, SpvDecorationNoContraction);
      if (kind == Kind::real && nir_alu_instr_is_signed_zero_inf_nan_preserve(&alu))
         t.float_controls.preserve(bits);
      t.define(alu.def, 0, id, kind);
   }

   Simple find() const
   {
      if (source_bits(0) == 1)
         return find_boolean(alu.op);
      const Simple f = find_float(alu.op);
      return is_none(f) ? find_integer(alu.op) : f;
   }

   void emit_simple(const Simple &simple) const
   {
      Words operands;
      for (unsigned i = 0; i < nir_op_infos[alu.op].num_inputs; ++i)
         operands.push_back(get(i, simple.from));
      const Id type = t.type(simple.to, bits);
      if (simple.extended) {
         operands.insert(operands.begin(),
                         {t.m.extended_instructions("GLSL.std.450"), uint32_t(simple.extended)});
         define(t.m.emit(SpvOpExtInst, type, operands), simple.to);
      } else {
         define(t.m.emit(simple.op, type, operands), simple.to);
      }
   }

   void emit_copy() const
   {
      for (unsigned i = 0; i < alu.def.num_components; ++i) {
         const nir_scalar s = alu.op == nir_op_mov
                                 ? nir_get_scalar(alu.src[0].src.ssa, alu.src[0].swizzle[i])
                                 : nir_get_scalar(alu.src[i].src.ssa, alu.src[i].swizzle[0]);
         const Scalar value = t.scalar(s);
         t.define(alu.def, i, value.id, value.kind);
      }
   }

   /// Bit casts between numbers and vectors of smaller ones.
   bool emit_pack() const
   {
      switch (alu.op) {
      case nir_op_pack_64_2x32:
      case nir_op_pack_32_2x16:
         pack({source(0, 0), source(0, 1)});
         return true;
      case nir_op_pack_64_4x16:
      case nir_op_pack_32_4x8:
         pack({source(0, 0), source(0, 1), source(0, 2), source(0, 3)});
         return true;
      case nir_op_pack_64_2x32_split:
      case nir_op_pack_32_2x16_split:
         pack({source(0), source(1)});
         return true;
      case nir_op_pack_32_4x8_split:
         pack({source(0), source(1), source(2), source(3)});
         return true;
      case nir_op_unpack_64_2x32:
      case nir_op_unpack_32_2x16:
      case nir_op_unpack_64_4x16:
      case nir_op_unpack_32_4x8:
         for (unsigned i = 0; i < alu.def.num_components; ++i)
            t.define(alu.def, i, unpack(i), Kind::integer);
         return true;
      case nir_op_unpack_64_2x32_split_x:
      case nir_op_unpack_32_2x16_split_x:
         t.define(alu.def, 0, unpack(0), Kind::integer);
         return true;
      case nir_op_unpack_64_2x32_split_y:
      case nir_op_unpack_32_2x16_split_y:
         t.define(alu.def, 0, unpack(1), Kind::integer);
         return true;
      case nir_op_pack_half_2x16_split: {
         const Id pair = t.vector(Kind::real, 32, {get(0, Kind::real), get(1, Kind::real)});
         define(t.glsl450(GLSLstd450PackHalf2x16, t.m.type_uint(32), {pair}), Kind::integer);
         return true;
      }
      case nir_op_pack_half_2x16: {
         const Id pair = t.vector(
            Kind::real, 32, {t.get(source(0, 0), Kind::real), t.get(source(0, 1), Kind::real)});
         define(t.glsl450(GLSLstd450PackHalf2x16, t.m.type_uint(32), {pair}), Kind::integer);
         return true;
      }
      case nir_op_unpack_half_2x16:
         t.define_vector(alu.def, unpack_half(), Kind::real);
         return true;
      case nir_op_unpack_half_2x16_split_x:
      case nir_op_unpack_half_2x16_split_y: {
         const bool second = alu.op == nir_op_unpack_half_2x16_split_y;
         define(t.extract(unpack_half(), t.m.type_float(32), second), Kind::real);
         return true;
      }
      default:
         return false;
      }
   }

   Id unpack_half() const
   {
      const Id type = t.m.type_vector(t.m.type_float(32), 2);
      return t.glsl450(GLSLstd450UnpackHalf2x16, type, {get(0, Kind::integer)});
   }

   void pack(std::initializer_list<nir_scalar> parts) const
   {
      Words ids;
      for (nir_scalar part : parts)
         ids.push_back(t.get(part, Kind::integer));
      const unsigned part_bits = parts.begin()->def->bit_size;
      if (is_held_wide(part_bits))
         ids = pack_in_words(ids, part_bits);
      if (ids.size() == 1)
         return t.define(alu.def, 0, ids[0], Kind::integer);
      const Id whole = t.vector(Kind::integer, bits / unsigned(ids.size()), ids);
      t.define(alu.def, 0, t.m.emit(SpvOpBitcast, t.m.type_uint(bits), {whole}), Kind::integer);
   }

   bool is_held_wide(unsigned size) const { return t.held_bits(size) != size; }

   /// Packs parts, each held as a word, into words.
   Words pack_in_words(const Words &parts, unsigned part_bits) const
   {
      const Id word = t.m.type_uint(32);
      const unsigned per_word = 32 / part_bits;
      Words words;
      for (size_t i = 0; i < parts.size(); i++) {
         if (i % per_word == 0) {
            words.push_back(parts[i]);
            continue;
         }
         const Id shift = t.constant(Kind::integer, 32, i % per_word * part_bits);
         const Id part = t.m.emit(SpvOpShiftLeftLogical, word, {parts[i], shift});
         words.back() = t.m.emit(SpvOpBitwiseOr, word, {words.back(), part});
      }
      return words;
   }

   /// The lower bits of a word, as many as the result has.
   Id lower_part(Id word) const
   {
      return t.m.emit(SpvOpBitwiseAnd, t.m.type_uint(32),
                      {word, t.constant(Kind::integer, 32, (1u << bits) - 1)});
   }

   Id unpack_from_word(unsigned part) const
   {
      const Id word = t.m.type_uint(32);
      const unsigned per_word = 32 / bits;
      Id value = get(0, Kind::integer);
      if (source_bits(0) == 64) {
         value = t.m.emit(SpvOpBitcast, t.m.type_vector(word, 2), {value});
         value = t.extract(value, word, part / per_word);
      }
      const Id shift = t.constant(Kind::integer, 32, part % per_word * bits);
      return lower_part(t.m.emit(SpvOpShiftRightLogical, word, {value, shift}));
   }

   Id unpack(unsigned part) const
   {
      if (is_held_wide(bits))
         return unpack_from_word(part);
      const Id component = t.m.type_uint(bits);
      const Id type = t.m.type_vector(component, source_bits(0) / bits);
      return t.extract(t.m.emit(SpvOpBitcast, type, {get(0, Kind::integer)}), component, part);
   }

   static nir_alu_type base(nir_alu_type type) { return nir_alu_type_get_base_type(type); }

   void emit_conversion() const
   {
      const nir_alu_type from = base(nir_op_infos[alu.op].input_types[0]);
      const nir_alu_type to = base(nir_op_infos[alu.op].output_type);
      if (from == nir_type_bool || source_bits(0) == 1)
         return convert_from_bool(to);
      if (to == nir_type_bool || bits == 1)
         return t.fail(std::string("the operation ") + nir_op_infos[alu.op].name +
                       " is not supported");
      if (alu.op == nir_op_f2f16_rtz && source_bits(0) > 16)
         return round_to_zero();
      if (is_held_wide(bits))
         return define(lower_part(get(0, Kind::integer)), Kind::integer);
      if (is_held_wide(source_bits(0)))
         return define(get(0, Kind::integer), Kind::integer);

      const Kind in = from == nir_type_float ? Kind::real : Kind::integer;
      const Kind out = to == nir_type_float ? Kind::real : Kind::integer;
      const Id value = get(0, in);
      if (in == Kind::real && out == Kind::integer && bits < 32)
         return convert_to_narrow_integer(value);
      const bool same_size = in == out && bits == source_bits(0);
      define(same_size ? value : t.m.emit(conversion(from, to), t.type(out, bits), {value}), out);
   }

   /// Converts via 32 bits. A direct conversion of a value out of range, such as a negative number
   /// to an unsigned type, is undefined. A driver based on LLVM then also considers the rest of the
   /// packed word undefined.
   void convert_to_narrow_integer(Id value) const
   {
      const Id wide = t.m.emit(SpvOpConvertFToS, t.m.type_uint(32), {value});
      define(t.m.emit(SpvOpUConvert, t.m.type_uint(bits), {wide}), Kind::integer);
   }

   SpvOp conversion(nir_alu_type from, nir_alu_type to) const
   {
      if (from == nir_type_float) {
         return to == nir_type_float ? SpvOpFConvert
                : to == nir_type_int ? SpvOpConvertFToS
                                     : SpvOpConvertFToU;
      }
      if (to == nir_type_float)
         return from == nir_type_int ? SpvOpConvertSToF : SpvOpConvertUToF;
      return from == nir_type_int ? SpvOpSConvert : SpvOpUConvert;
   }

   void convert_from_bool(nir_alu_type to) const
   {
      const Kind kind = bits == 1              ? Kind::boolean
                        : to == nir_type_float ? Kind::real
                                               : Kind::integer;
      const Id condition = get(0, Kind::boolean);
      if (kind == Kind::boolean)
         return define(condition, kind);
      const uint64_t one = to == nir_type_float  ? float_one(bits)
                           : to == nir_type_bool ? ~uint64_t(0)
                                                 : 1;
      define(t.m.emit(SpvOpSelect, t.type(kind, bits),
                      {condition, t.constant(kind, bits, one), t.zero(kind, bits)}),
             kind);
   }

   /// Rounds toward zero, whatever the driver's rounding mode: if the driver rounded away from
   /// zero, takes the next smaller number in magnitude.
   void round_to_zero() const
   {
      const unsigned wide = source_bits(0);
      const Id half_type = t.m.type_float(16), wide_type = t.m.type_float(wide),
               bits_type = t.m.type_uint(16);
      const Id value = get(0, Kind::real);
      const Id half = t.m.emit(SpvOpFConvert, half_type, {value});
      const Id back = t.m.emit(SpvOpFConvert, wide_type, {half});
      const Id too_far = t.m.emit(SpvOpFOrdGreaterThan, t.m.type_bool(),
                                  {t.glsl450(GLSLstd450FAbs, wide_type, {back}),
                                   t.glsl450(GLSLstd450FAbs, wide_type, {value})});
      const Id number = t.m.emit(SpvOpBitcast, bits_type, {half});
      const Id before = t.m.emit(SpvOpISub, bits_type, {number, t.constant(Kind::integer, 16, 1)});
      define(t.m.emit(SpvOpSelect, bits_type, {too_far, before, number}), Kind::integer);
   }

   void emit_other() const
   {
      switch (alu.op) {
      case nir_op_frcp: {
         const Id one = t.constant(Kind::real, bits, float_one(bits));
         return define(t.m.emit(SpvOpFDiv, t.m.type_float(bits), {one, get(0, Kind::real)}),
                       Kind::real);
      }
      case nir_op_fisfinite: {
         const unsigned wide = source_bits(0);
         const Id magnitude = t.glsl450(GLSLstd450FAbs, t.m.type_float(wide), {get(0, Kind::real)});
         const Id infinity = t.constant(Kind::real, wide, float_infinity(wide));
         return define(t.m.emit(SpvOpFOrdLessThan, t.m.type_bool(), {magnitude, infinity}),
                       Kind::boolean);
      }
      case nir_op_bcsel: {
         const Scalar value = t.scalar(source(1));
         const Kind kind = bits == 1 ? Kind::boolean : value.kind;
         const Words operands = {get(0, Kind::boolean), get(1, kind), get(2, kind)};
         return t.define(alu.def, 0, t.m.emit(SpvOpSelect, t.type(kind, bits), operands), kind);
      }
      case nir_op_ishl:
         return emit_shift(SpvOpShiftLeftLogical);
      case nir_op_ishr:
         return emit_shift(SpvOpShiftRightArithmetic);
      case nir_op_ushr:
         return emit_shift(SpvOpShiftRightLogical);
      case nir_op_imul_high:
         return emit_multiply_high(SpvOpSMulExtended);
      case nir_op_umul_high:
         return emit_multiply_high(SpvOpUMulExtended);
      case nir_op_sdot_4x8_iadd:
         return emit_dot(SpvOpSDot);
      case nir_op_udot_4x8_uadd:
         return emit_dot(SpvOpUDot);
      case nir_op_sudot_4x8_iadd:
         return emit_dot(SpvOpSUDot);
      default:
         /* validate_spirv_form() has refused it. */
         t.fail(std::string("the operation ") + nir_op_infos[alu.op].name + " is not supported");
      }
   }

   /// NIR's shift amounts count modulo the size; SPIR-V's must be less than the size.
   void emit_shift(SpvOp op) const
   {
      Id amount;
      if (nir_scalar_is_const(source(1))) {
         amount = t.constant(Kind::integer, 32, nir_scalar_as_uint(source(1)) & (bits - 1));
      } else {
         const Id mask = t.constant(Kind::integer, 32, bits - 1);
         amount = t.m.emit(SpvOpBitwiseAnd, t.m.type_uint(32), {get(1, Kind::integer), mask});
      }
      define(t.m.emit(op, t.m.type_uint(bits), {get(0, Kind::integer), amount}), Kind::integer);
   }

   void emit_multiply_high(SpvOp op) const
   {
      const Id type = t.m.type_uint(bits);
      const Id both = t.m.emit(op, t.m.type(SpvOpTypeStruct, {type, type}),
                               {get(0, Kind::integer), get(1, Kind::integer)});
      define(t.extract(both, type, 1), Kind::integer);
   }

   /// A dot product of four bytes each; drivers recognize the addition that follows.
   void emit_dot(SpvOp op) const
   {
      t.m.capability(SpvCapabilityDotProduct);
      t.m.capability(SpvCapabilityDotProductInput4x8BitPacked);
      t.extension("SPV_KHR_integer_dot_product", 0x00010600);
      const Id type = t.m.type_uint(32);
      const Id dot = t.m.emit(op, type,
                              {get(0, Kind::integer), get(1, Kind::integer),
                               uint32_t(SpvPackedVectorFormatPackedVectorFormat4x8Bit)});
      const nir_scalar sum = source(2);
      const bool is_sum = !nir_scalar_is_const(sum) || nir_scalar_as_uint(sum) != 0;
      define(is_sum ? t.m.emit(SpvOpIAdd, type, {dot, get(2, Kind::integer)}) : dot, Kind::integer);
   }

   Translator &t;
   nir_alu_instr &alu;
   const unsigned bits;
};

} // namespace

void emit_alu(Translator &t, nir_alu_instr *alu)
{
   Alu(t, alu).emit();
}

} // namespace weft::spirv
