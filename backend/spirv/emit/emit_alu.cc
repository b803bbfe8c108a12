// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Arithmetic, which a NIR pass has made scalar. Integers are unsigned; the opcode makes an
/// operation signed, as SPIR-V defines for all of them.

#include "backend/spirv/emit/alu_table.h"
#include "backend/spirv/emit/emit.h"
#include "backend/spirv/module/translator.h"

#include <algorithm>
#include <vector>

namespace weft::spirv {

namespace {

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
      if (nir_op_infos[alu.op].is_conversion)
         return emit_conversion();
      if (const AluRule *rule = find_alu_rule(alu.op, source_bits(0)))
         return emit_by(*rule);
      /* validate_spirv_form() has refused it. */
      t.fail(std::string("the operation ") + nir_op_infos[alu.op].name + " is not supported");
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

   void emit_by(const AluRule &rule) const
   {
      switch (rule.form) {
      case AluForm::plain:
         return emit_plain(rule);
      case AluForm::reciprocal:
         return emit_reciprocal();
      case AluForm::is_finite:
         return emit_is_finite();
      case AluForm::select:
         return emit_select();
      case AluForm::shift:
         return emit_shift(rule.instruction);
      case AluForm::multiply_high:
         return emit_multiply_high(rule.instruction);
      case AluForm::dot:
         return emit_dot(rule.instruction);
      case AluForm::pack:
         return emit_pack();
      case AluForm::unpack:
         for (unsigned i = 0; i < alu.def.num_components; ++i)
            t.define(alu.def, i, unpack(i), Kind::integer);
         return;
      case AluForm::unpack_first:
         return t.define(alu.def, 0, unpack(0), Kind::integer);
      case AluForm::unpack_second:
         return t.define(alu.def, 0, unpack(1), Kind::integer);
      case AluForm::pack_half:
         return emit_pack_half();
      case AluForm::unpack_half:
         return t.define_vector(alu.def, unpack_half(), Kind::real);
      case AluForm::unpack_half_first:
         return define(t.extract(unpack_half(), t.m.type_float(32), 0), Kind::real);
      case AluForm::unpack_half_second:
         return define(t.extract(unpack_half(), t.m.type_float(32), 1), Kind::real);
      }
   }

   void emit_plain(const AluRule &rule) const
   {
      Words operands;
      for (unsigned i = 0; i < nir_op_infos[alu.op].num_inputs; ++i)
         operands.push_back(get(i, rule.from));
      const Id type = t.type(rule.to, bits);
      if (rule.extended != GLSLstd450Bad) {
         operands.insert(operands.begin(),
                         {t.m.extended_instructions("GLSL.std.450"), uint32_t(rule.extended)});
         define(t.m.emit(SpvOpExtInst, type, operands), rule.to);
      } else {
         define(t.m.emit(rule.instruction, type, operands), rule.to);
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

   /* ---- packing: bit casts between numbers and vectors of smaller ones ---- */

   /// The parts of a packed number: the components of the source, or the sources.
   std::vector<nir_scalar> parts() const
   {
      const nir_op_info &info = nir_op_infos[alu.op];
      std::vector<nir_scalar> list;
      for (unsigned i = 0; i < info.num_inputs; ++i) {
         for (unsigned c = 0; c < std::max<unsigned>(info.input_sizes[i], 1); ++c)
            list.push_back(source(i, c));
      }
      return list;
   }

   void emit_pack_half() const
   {
      Words halves;
      for (const nir_scalar &part : parts())
         halves.push_back(t.get(part, Kind::real));
      const Id pair = t.vector(Kind::real, 32, halves);
      define(t.glsl450(GLSLstd450PackHalf2x16, t.m.type_uint(32), {pair}), Kind::integer);
   }

   Id unpack_half() const
   {
      const Id type = t.m.type_vector(t.m.type_float(32), 2);
      return t.glsl450(GLSLstd450UnpackHalf2x16, type, {get(0, Kind::integer)});
   }

   void emit_pack() const
   {
      Words ids;
      for (const nir_scalar &part : parts())
         ids.push_back(t.get(part, Kind::integer));
      const unsigned part_bits = source_bits(0);
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

   /* ---- conversions ---- */

   void emit_conversion() const
   {
      const nir_op_info &info = nir_op_infos[alu.op];
      const nir_alu_type from = nir_alu_type_get_base_type(info.input_types[0]),
                         to = nir_alu_type_get_base_type(info.output_type);
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
      define(same_size ? value
                       : t.m.emit(conversion_instruction(alu.op), t.type(out, bits), {value}),
             out);
   }

   /// Converts via 32 bits. A direct conversion of a value out of range, such as a negative number
   /// to an unsigned type, is undefined. A driver based on LLVM then also considers the rest of the
   /// packed word undefined.
   void convert_to_narrow_integer(Id value) const
   {
      const Id wide = t.m.emit(SpvOpConvertFToS, t.m.type_uint(32), {value});
      define(t.m.emit(SpvOpUConvert, t.m.type_uint(bits), {wide}), Kind::integer);
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

   /// Rounds toward zero in any rounding mode of the driver: if the driver rounded away from zero,
   /// the result is the next smaller number in magnitude.
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

   /* ---- other forms ---- */

   void emit_reciprocal() const
   {
      const Id one = t.constant(Kind::real, bits, float_one(bits));
      define(t.m.emit(SpvOpFDiv, t.m.type_float(bits), {one, get(0, Kind::real)}), Kind::real);
   }

   void emit_is_finite() const
   {
      const unsigned wide = source_bits(0);
      const Id magnitude = t.glsl450(GLSLstd450FAbs, t.m.type_float(wide), {get(0, Kind::real)});
      const Id infinity = t.constant(Kind::real, wide, float_infinity(wide));
      define(t.m.emit(SpvOpFOrdLessThan, t.m.type_bool(), {magnitude, infinity}), Kind::boolean);
   }

   void emit_select() const
   {
      const Kind kind = bits == 1 ? Kind::boolean : t.scalar(source(1)).kind;
      const Words operands = {get(0, Kind::boolean), get(1, kind), get(2, kind)};
      t.define(alu.def, 0, t.m.emit(SpvOpSelect, t.type(kind, bits), operands), kind);
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
