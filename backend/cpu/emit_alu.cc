// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// ALU instructions: takes NIR's vectors apart and leaves each component to the file of its group.

#include "backend/cpu/emit_alu.h"

namespace weft::cpu {

using llvm::Value;

namespace {

Value *operand(Translator &t, nir_alu_instr *alu, unsigned i, unsigned component)
{
   const unsigned channel = alu->src[i].swizzle[component];
   return t.is_uniform(alu->def) ? t.uniform(alu->src[i].src, channel)
                                 : t.varying(alu->src[i].src, channel);
}

/// Selections, in all widths of booleans.
Value *emit_select(Alu &a)
{
   switch (a.op()) {
   case nir_op_mov:
      return a.src[0];
   case nir_op_bcsel:
   case nir_op_b8csel:
   case nir_op_b16csel:
   case nir_op_b32csel:
   case nir_op_icsel_eqz: {
      Value *condition = a.src[0];
      if (a.op() == nir_op_icsel_eqz)
         condition = a.b.CreateIsNull(condition);
      else if (a.src_bits(0) != 1)
         condition = a.b.CreateIsNotNull(condition);
      return a.b.CreateSelect(condition, a.src[1], a.src[2]);
   }
   default:
      return nullptr;
   }
}

Value *emit_component(Alu &a)
{
   for (auto emit : {emit_select, emit_integer, emit_float, emit_convert, emit_math, emit_dot_4x8}) {
      if (Value *v = emit(a))
         return v;
   }
   a.t.fail(std::string("the CPU back end does not support the NIR operation ") +
            nir_op_infos[a.op()].name);
   return nullptr;
}

/// The operations that combine all components of their operands into one.
struct Reduction {
   nir_op each;    ///< what is done to the components of both operands; mov: there is one operand
   nir_op combine; ///< what joins the results
   unsigned size;
};

std::optional<Reduction> reduction_of(nir_op op)
{
   switch (op) {
#define EACH_SIZE(name, each, combine)                                                             \
   case nir_op_##name##2: return Reduction{each, combine, 2};                                      \
   case nir_op_##name##3: return Reduction{each, combine, 3};                                      \
   case nir_op_##name##4: return Reduction{each, combine, 4};
      EACH_SIZE(fsum, nir_op_mov, nir_op_fadd)
      EACH_SIZE(fdot, nir_op_fmul, nir_op_fadd)
      EACH_SIZE(ball_fequal, nir_op_feq, nir_op_iand)
      EACH_SIZE(bany_fnequal, nir_op_fneu, nir_op_ior)
      EACH_SIZE(ball_iequal, nir_op_ieq, nir_op_iand)
      EACH_SIZE(bany_inequal, nir_op_ine, nir_op_ior)
#undef EACH_SIZE
   case nir_op_fdot8: return Reduction{nir_op_fmul, nir_op_fadd, 8};
   case nir_op_fdot16: return Reduction{nir_op_fmul, nir_op_fadd, 16};
   default: return std::nullopt;
   }
}

Value *apply(Alu &a, nir_op op, Value *x, Value *y)
{
   switch (op) {
   case nir_op_fadd: return a.t.as_int(a.b.CreateFAdd(a.t.as_float(x), a.t.as_float(y)));
   case nir_op_fmul: return a.t.as_int(a.b.CreateFMul(a.t.as_float(x), a.t.as_float(y)));
   case nir_op_feq: return a.b.CreateFCmpOEQ(a.t.as_float(x), a.t.as_float(y));
   case nir_op_fneu: return a.b.CreateFCmpUNE(a.t.as_float(x), a.t.as_float(y));
   case nir_op_ieq: return a.b.CreateICmpEQ(x, y);
   case nir_op_ine: return a.b.CreateICmpNE(x, y);
   case nir_op_iand: return a.b.CreateAnd(x, y);
   case nir_op_ior: return a.b.CreateOr(x, y);
   default: return x;
   }
}

void emit_reduction(Translator &t, nir_alu_instr *alu, const Reduction &reduction)
{
   Alu a{t, t.b, alu, {}};
   llvm::SmallVector<Value *, 16> parts;
   for (unsigned c = 0; c < reduction.size; c++) {
      Value *x = operand(t, alu, 0, c);
      parts.push_back(reduction.each == nir_op_mov ? x : apply(a, reduction.each, x, operand(t, alu, 1, c)));
   }
   // In the order of NIR's constant folding: sums of components from the first, of products from the last.
   if (reduction.each != nir_op_mov)
      std::reverse(parts.begin(), parts.end());
   Value *result = parts[0];
   for (unsigned c = 1; c < reduction.size; c++)
      result = apply(a, reduction.combine, result, parts[c]);
   t.define(alu->def, 0, result);
}

/// Joins `n` integers of operand 0, the first in the lowest bits.
void emit_pack(Translator &t, nir_alu_instr *alu, unsigned n)
{
   const unsigned bits = alu->def.bit_size;
   Alu a{t, t.b, alu, {operand(t, alu, 0, 0)}};
   Value *result = nullptr;
   for (unsigned c = 0; c < n; c++) {
      Value *part = a.zext(operand(t, alu, 0, c), bits);
      if (c)
         part = t.b.CreateShl(part, a.constant(bits, c * bits / n));
      result = result ? t.b.CreateOr(result, part) : part;
   }
   t.define(alu->def, 0, result);
}

void emit_unpack(Translator &t, nir_alu_instr *alu, unsigned n)
{
   Alu a{t, t.b, alu, {operand(t, alu, 0, 0)}};
   const unsigned bits = a.src_bits();
   for (unsigned c = 0; c < n; c++) {
      Value *part = t.b.CreateLShr(a.src[0], a.constant(bits, c * bits / n));
      t.define(alu->def, c, a.zext(part, alu->def.bit_size));
   }
}

} // namespace

bool emit_horizontal(Translator &t, nir_alu_instr *alu)
{
   if (nir_op_is_vec(alu->op)) {
      for (unsigned c = 0; c < alu->def.num_components; c++)
         t.define(alu->def, c, operand(t, alu, c, 0));
      return true;
   }
   if (auto reduction = reduction_of(alu->op)) {
      emit_reduction(t, alu, *reduction);
      return true;
   }
   switch (alu->op) {
   case nir_op_pack_64_2x32:
   case nir_op_pack_32_2x16:
      emit_pack(t, alu, 2);
      return true;
   case nir_op_pack_64_4x16:
   case nir_op_pack_32_4x8:
      emit_pack(t, alu, 4);
      return true;
   case nir_op_unpack_64_2x32:
   case nir_op_unpack_32_2x16:
      emit_unpack(t, alu, 2);
      return true;
   case nir_op_unpack_64_4x16:
   case nir_op_unpack_32_4x8:
      emit_unpack(t, alu, 4);
      return true;
   case nir_op_pack_half_2x16: {
      Alu a{t, t.b, alu, {operand(t, alu, 0, 0), operand(t, alu, 0, 1)}};
      Value *low = a.zext(to_half(a, a.f(0), false), 32), *high = a.zext(to_half(a, a.f(1), false), 32);
      t.define(alu->def, 0, t.b.CreateOr(low, t.b.CreateShl(high, a.constant(32, 16))));
      return true;
   }
   case nir_op_unpack_half_2x16: {
      Alu a{t, t.b, alu, {operand(t, alu, 0, 0)}};
      for (unsigned c = 0; c < 2; c++) {
         Value *half = a.zext(t.b.CreateLShr(a.src[0], a.constant(32, 16 * c)), 16);
         t.define(alu->def, c, a.fcast(t.as_float(half), 32));
      }
      return true;
   }
   default:
      return false;
   }
}

void emit_alu(Translator &t, nir_alu_instr *alu)
{
   if (emit_horizontal(t, alu))
      return;
   const nir_op_info &info = nir_op_infos[alu->op];
   for (unsigned c = 0; c < alu->def.num_components; c++) {
      Alu a{t, t.b, alu, {}};
      for (unsigned i = 0; i < info.num_inputs; i++)
         a.src.push_back(operand(t, alu, i, c));
      Value *v = emit_component(a);
      if (!v)
         return;
      t.define(alu->def, c, v);
   }
}

} // namespace weft::cpu
