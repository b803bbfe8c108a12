// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Floating-point arithmetic and comparison. No fast-math flags: NIR has already applied the
/// transformations that the shader allows, and contracts FMAs itself.

#include "backend/cpu/codegen/emit/emit_alu.h"

#include <bit>
#include <cmath>

namespace weft::cpu {

using llvm::Value;

namespace {

/// Whether a value cannot be NaN: a constant, or the extremum of a number and anything.
bool is_number(nir_scalar value)
{
   constexpr unsigned max_steps = 16;
   for (unsigned i = 0; i < max_steps; i++) {
      value = nir_scalar_chase_movs(value);
      if (nir_scalar_is_const(value))
         return !std::isnan(nir_scalar_as_float(value));
      if (!nir_scalar_is_alu(value))
         return false;
      const nir_op op = nir_scalar_alu_op(value);
      if (op != nir_op_fmin && op != nir_op_fmax)
         return false;
      const nir_scalar other = nir_scalar_chase_movs(nir_scalar_chase_alu_src(value, 1));
      value = nir_scalar_chase_alu_src(value, 0);
      if (nir_scalar_is_const(other) && !std::isnan(nir_scalar_as_float(other)))
         return true;
   }
   return false;
}

/// One instruction of x86, which returns the second operand if either is NaN, where minNum and
/// maxNum take three.
Value *extremum_with_number(Alu &a, Value *other, Value *number)
{
   Value *is_other =
      a.op() == nir_op_fmin ? a.b.CreateFCmpOLT(other, number) : a.b.CreateFCmpOGT(other, number);
   return a.b.CreateSelect(is_other, other, number);
}

/// minNum and maxNum may return either zero. Where the shader preserves the zeros' signs, -0 is
/// less than +0.
Value *emit_extremum(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   const bool is_min = a.op() == nir_op_fmin;
   Value *x = a.f(0), *y = a.f(1);
   const nir_scalar result = nir_get_scalar(&a.instr->def, a.component);
   Value *extremum = is_number(nir_scalar_chase_alu_src(result, 1)) ? extremum_with_number(a, x, y)
                     : is_number(nir_scalar_chase_alu_src(result, 0))
                        ? extremum_with_number(a, y, x)
                     : is_min ? b.CreateMinNum(x, y)
                              : b.CreateMaxNum(x, y);
   if (!nir_alu_instr_is_signed_zero_preserve(a.instr))
      return extremum;
   // Equal numbers have the same bits, but for the zeros' sign.
   Value *x_bits = a.t.as_int(x), *y_bits = a.t.as_int(y);
   Value *bits = is_min ? b.CreateOr(x_bits, y_bits) : b.CreateAnd(x_bits, y_bits);
   return b.CreateSelect(b.CreateFCmpOEQ(x, y), a.t.as_float(bits), extremum);
}

/// Whether x / y is an integer divided by 2^n - 1, as the conversion of a normalized number is.
bool is_normalized_number(Alu &a)
{
   const nir_scalar result = nir_get_scalar(&a.instr->def, a.component),
                    x = nir_scalar_chase_movs(nir_scalar_chase_alu_src(result, 0)),
                    y = nir_scalar_chase_alu_src(result, 1);
   if (a.bits() != 32 || !nir_scalar_is_alu(x) || !nir_scalar_is_const(y))
      return false;
   const nir_op op = nir_scalar_alu_op(x);
   const double largest = nir_scalar_as_float(y);
   return (op == nir_op_u2f32 || op == nir_op_i2f32) && largest >= 1 && largest <= 0xffff &&
          std::has_single_bit(uint32_t(largest) + 1) && largest == uint32_t(largest);
}

/// The reciprocal of a normalized number's divisor, in two parts, gives the bits of a division for
/// every integer.
Value *emit_division(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   Value *x = a.f(0);
   if (!is_normalized_number(a))
      return b.CreateFDiv(x, a.f(1));
   const nir_scalar result = nir_get_scalar(&a.instr->def, a.component);
   const double reciprocal = 1 / nir_scalar_as_float(nir_scalar_chase_alu_src(result, 1));
   const auto high = float(reciprocal), low = float(reciprocal - double(high));
   Value *rest = b.CreateFMul(x, a.real(32, low));
   return b.CreateIntrinsic(x->getType(), llvm::Intrinsic::fma, {x, a.real(32, high), rest});
}

Value *emit_float_arithmetic(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   const unsigned bits = a.bits();
   switch (a.op()) {
   case nir_op_fadd:
      return b.CreateFAdd(a.f(0), a.f(1));
   case nir_op_fsub:
      return b.CreateFSub(a.f(0), a.f(1));
   case nir_op_fmul:
      return b.CreateFMul(a.f(0), a.f(1));
   case nir_op_fdiv:
      return emit_division(a);
   case nir_op_fneg:
      return b.CreateFNeg(a.f(0));
   case nir_op_fabs:
      return a.unary(llvm::Intrinsic::fabs, a.f(0));
   case nir_op_ffma:
      return b.CreateIntrinsic(a.f(0)->getType(), llvm::Intrinsic::fma, {a.f(0), a.f(1), a.f(2)});
   case nir_op_fmin:
   case nir_op_fmax:
      return emit_extremum(a);
   case nir_op_frcp:
      return b.CreateFDiv(a.real(bits, 1.0), a.f(0));
   case nir_op_fsqrt:
      return a.unary(llvm::Intrinsic::sqrt, a.f(0));
   case nir_op_frsq:
      return b.CreateFDiv(a.real(bits, 1.0), a.unary(llvm::Intrinsic::sqrt, a.f(0)));
   case nir_op_ffloor:
      return a.unary(llvm::Intrinsic::floor, a.f(0));
   case nir_op_fceil:
      return a.unary(llvm::Intrinsic::ceil, a.f(0));
   case nir_op_ftrunc:
      return a.unary(llvm::Intrinsic::trunc, a.f(0));
   case nir_op_fround_even:
      return a.unary(llvm::Intrinsic::roundeven, a.f(0));
   default:
      return nullptr;
   }
}

Value *emit_float_compare(Alu &a)
{
   llvm::CmpInst::Predicate predicate;
   switch (a.op()) {
   case nir_op_flt:
      predicate = llvm::CmpInst::FCMP_OLT;
      break;
   case nir_op_fge:
      predicate = llvm::CmpInst::FCMP_OGE;
      break;
   case nir_op_feq:
      predicate = llvm::CmpInst::FCMP_OEQ;
      break;
   case nir_op_fneu:
      predicate = llvm::CmpInst::FCMP_UNE;
      break;
   default:
      return nullptr;
   }
   return a.b.CreateFCmp(predicate, a.f(0), a.f(1));
}

/// Whether to compute in f32, as CPUs without AVX512-FP16 do. LLVM widens basic arithmetic well,
/// but would scalarize vectors of half for these operations. A fence keeps InstCombine from
/// narrowing them again. A reciprocal square root is always wide, because it rounds twice.
bool wants_widening(Alu &a)
{
   if (a.t.options.target.half_arithmetic && a.op() != nir_op_frsq)
      return false;
   switch (a.op()) {
   case nir_op_fadd:
   case nir_op_fsub:
   case nir_op_fmul:
   case nir_op_fdiv:
   case nir_op_frcp:
   case nir_op_fneg:
   case nir_op_fabs:
      return false;
   default:
      return nir_alu_type_get_base_type(nir_op_infos[a.op()].input_types[0]) == nir_type_float &&
             a.src_bits() == 16;
   }
}

Value *fence(Alu &a, Value *v)
{
   return a.b.CreateArithmeticFence(v, v->getType());
}

Value *emit_any_width(Alu &a)
{
   Value *v = emit_float_arithmetic(a);
   return v ? v : emit_float_compare(a);
}

/// Whether the operation belongs to this file. Conversions and emit_math.cc handle f16 themselves.
bool is_float_operation(nir_op op)
{
   return !nir_op_infos[op].is_conversion && op != nir_op_fsin && op != nir_op_fcos &&
          op != nir_op_fexp2 && op != nir_op_flog2;
}

} // namespace

Value *emit_float(Alu &a)
{
   if (!wants_widening(a) || !is_float_operation(a.op()))
      return emit_any_width(a);
   Alu wide = a;
   for (unsigned i = 0; i < a.src.size(); i++) {
      if (nir_alu_type_get_base_type(nir_op_infos[a.op()].input_types[i]) == nir_type_float)
         wide.src[i] = a.t.as_int(fence(a, a.fcast(a.f(i), 32)));
   }
   if (a.bits() == 16 &&
       nir_alu_type_get_base_type(nir_op_infos[a.op()].output_type) == nir_type_float)
      wide.result_bits = 32;
   Value *v = emit_any_width(wide);
   return v && wide.result_bits != a.bits() ? to_half(a, fence(a, v), false) : v;
}

} // namespace weft::cpu
