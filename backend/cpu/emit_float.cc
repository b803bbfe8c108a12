// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Floating-point arithmetic and comparison.  No fast-math flags: NIR has already done what the shader allows, and
/// contracts where it wants an FMA.

#include "backend/cpu/emit_alu.h"

namespace weft::cpu {

using llvm::Value;

namespace {

Value *minimum(Alu &a, Value *x, Value *y) { return a.b.CreateMinNum(x, y); }
Value *maximum(Alu &a, Value *x, Value *y) { return a.b.CreateMaxNum(x, y); }

Value *one_or_zero(Alu &a, Value *condition)
{
   return a.b.CreateSelect(condition, a.real(a.bits(), 1.0), a.real(a.bits(), 0.0));
}

Value *multiply_add(Alu &a)
{
   // For f16, in f32: the product is exact, the sum is rounded there and once more (OpFma asks for no better).
   Value *operands[3] = {a.f(0), a.f(1), a.f(2)};
   return a.b.CreateIntrinsic(operands[0]->getType(), llvm::Intrinsic::fma, operands);
}

/// Multiplies by zero as if zero times anything were zero.
Value *multiply_zero_wins(Alu &a)
{
   Value *zero = a.real(32, 0.0);
   Value *is_zero = a.b.CreateOr(a.b.CreateFCmpOEQ(a.f(0), zero), a.b.CreateFCmpOEQ(a.f(1), zero));
   if (a.op() == nir_op_fmulz)
      return a.b.CreateSelect(is_zero, zero, a.b.CreateFMul(a.f(0), a.f(1)));
   return a.b.CreateSelect(is_zero, a.b.CreateFAdd(zero, a.f(2)), multiply_add(a));
}

Value *emit_arithmetic(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   const unsigned bits = a.bits();
   switch (a.op()) {
   case nir_op_fadd: return b.CreateFAdd(a.f(0), a.f(1));
   case nir_op_fsub: return b.CreateFSub(a.f(0), a.f(1));
   case nir_op_fmul: return b.CreateFMul(a.f(0), a.f(1));
   case nir_op_fdiv: return b.CreateFDiv(a.f(0), a.f(1));
   case nir_op_fneg: return b.CreateFNeg(a.f(0));
   case nir_op_fabs: return a.unary(llvm::Intrinsic::fabs, a.f(0));
   case nir_op_ffma: return multiply_add(a);
   case nir_op_fmulz:
   case nir_op_ffmaz: return multiply_zero_wins(a);
   case nir_op_fmin: return minimum(a, a.f(0), a.f(1));
   case nir_op_fmax: return maximum(a, a.f(0), a.f(1));
   case nir_op_fsat: return minimum(a, maximum(a, a.f(0), a.real(bits, 0.0)), a.real(bits, 1.0));
   case nir_op_frcp: return b.CreateFDiv(a.real(bits, 1.0), a.f(0));
   case nir_op_fsqrt: return a.unary(llvm::Intrinsic::sqrt, a.f(0));
   case nir_op_frsq:
      return b.CreateFDiv(a.real(bits, 1.0), a.unary(llvm::Intrinsic::sqrt, a.f(0)));
   case nir_op_ffloor: return a.unary(llvm::Intrinsic::floor, a.f(0));
   case nir_op_fceil: return a.unary(llvm::Intrinsic::ceil, a.f(0));
   case nir_op_ftrunc: return a.unary(llvm::Intrinsic::trunc, a.f(0));
   case nir_op_fround_even: return a.unary(llvm::Intrinsic::roundeven, a.f(0));
   case nir_op_ffract: return b.CreateFSub(a.f(0), a.unary(llvm::Intrinsic::floor, a.f(0)));
   case nir_op_fmod:
   case nir_op_frem: {
      const auto whole = a.op() == nir_op_fmod ? llvm::Intrinsic::floor : llvm::Intrinsic::trunc;
      Value *quotient = a.unary(whole, b.CreateFDiv(a.f(0), a.f(1)));
      return b.CreateFSub(a.f(0), b.CreateFMul(a.f(1), quotient));
   }
   case nir_op_flrp: {
      Value *rest = b.CreateFSub(a.real(bits, 1.0), a.f(2));
      return b.CreateFAdd(b.CreateFMul(a.f(0), rest), b.CreateFMul(a.f(1), a.f(2)));
   }
   case nir_op_fsign: {
      Value *x = a.f(0), *zero = a.real(bits, 0.0);
      Value *unit = a.binary(llvm::Intrinsic::copysign, a.real(bits, 1.0), x);
      Value *zero_or_nan = b.CreateFCmpUEQ(x, zero);
      Value *kept = b.CreateSelect(b.CreateFCmpUNO(x, x), zero, x);
      return b.CreateSelect(zero_or_nan, kept, unit);
   }
   default: return nullptr;
   }
}

Value *emit_compare(Alu &a)
{
   llvm::CmpInst::Predicate predicate;
   switch (a.op()) {
   WEFT_COMPARISON(flt): predicate = llvm::CmpInst::FCMP_OLT; break;
   WEFT_COMPARISON(fge): predicate = llvm::CmpInst::FCMP_OGE; break;
   WEFT_COMPARISON(fltu): predicate = llvm::CmpInst::FCMP_ULT; break;
   WEFT_COMPARISON(fgeu): predicate = llvm::CmpInst::FCMP_UGE; break;
   WEFT_COMPARISON(feq): predicate = llvm::CmpInst::FCMP_OEQ; break;
   WEFT_COMPARISON(fneu): predicate = llvm::CmpInst::FCMP_UNE; break;
   WEFT_COMPARISON(fequ): predicate = llvm::CmpInst::FCMP_UEQ; break;
   WEFT_COMPARISON(fneo): predicate = llvm::CmpInst::FCMP_ONE; break;
   WEFT_COMPARISON(funord): predicate = llvm::CmpInst::FCMP_UNO; break;
   WEFT_COMPARISON(ford): predicate = llvm::CmpInst::FCMP_ORD; break;
   case nir_op_slt: return one_or_zero(a, a.b.CreateFCmpOLT(a.f(0), a.f(1)));
   case nir_op_sge: return one_or_zero(a, a.b.CreateFCmpOGE(a.f(0), a.f(1)));
   case nir_op_seq: return one_or_zero(a, a.b.CreateFCmpOEQ(a.f(0), a.f(1)));
   case nir_op_sne: return one_or_zero(a, a.b.CreateFCmpUNE(a.f(0), a.f(1)));
   default: return nullptr;
   }
   return a.boolean(a.b.CreateFCmp(predicate, a.f(0), a.f(1)));
}

Value *emit_float_select(Alu &a)
{
   Value *zero = a.real(32, 0.0);
   switch (a.op()) {
   case nir_op_fcsel: return a.b.CreateSelect(a.b.CreateFCmpUNE(a.f(0), zero), a.src[1], a.src[2]);
   case nir_op_fcsel_gt: return a.b.CreateSelect(a.b.CreateFCmpOGT(a.f(0), zero), a.src[1], a.src[2]);
   case nir_op_fcsel_ge: return a.b.CreateSelect(a.b.CreateFCmpOGE(a.f(0), zero), a.src[1], a.src[2]);
   default: return nullptr;
   }
}

/// x = significand * 2^exponent with 0.5 <= |significand| < 1; zero, infinity and NaN are their own significands.
Value *emit_frexp(Alu &a)
{
   if (a.op() != nir_op_frexp_exp && a.op() != nir_op_frexp_sig)
      return nullptr;
   llvm::IRBuilder<> &b = a.b;
   Value *x = a.f(0);
   const unsigned bits = a.src_bits();
   const unsigned mantissa = bits == 32 ? 23 : 52;
   const int64_t bias = bits == 32 ? 127 : 1023;
   const uint64_t exponent_bits = bits == 32 ? 0xff : 0x7ff;

   // Denormals are scaled up first.
   Value *magnitude = a.unary(llvm::Intrinsic::fabs, x);
   Value *least_normal = a.real(bits, bits == 32 ? 0x1p-126 : 0x1p-1022);
   Value *is_denormal = b.CreateFCmpOLT(magnitude, least_normal);
   Value *scaled = b.CreateSelect(is_denormal, b.CreateFMul(x, a.real(bits, 0x1p60)), x);
   Value *integer = a.t.as_int(scaled);
   Value *field = b.CreateAnd(b.CreateLShr(integer, a.constant(bits, mantissa)),
                              a.constant(bits, exponent_bits));
   Value *special = b.CreateOr(b.CreateFCmpOEQ(x, a.real(bits, 0.0)),
                               b.CreateICmpEQ(field, a.constant(bits, exponent_bits)));
   if (a.op() == nir_op_frexp_exp) {
      Value *shift = b.CreateSelect(is_denormal, a.constant(bits, bias - 1 + 60), a.constant(bits, bias - 1));
      Value *exponent = a.zext(b.CreateSub(field, shift), 32);
      return b.CreateSelect(special, a.constant(32, 0), exponent);
   }
   Value *kept = b.CreateAnd(integer, a.constant(bits, ~(exponent_bits << mantissa)));
   Value *significand = a.t.as_float(b.CreateOr(kept, a.constant(bits, uint64_t(bias - 1) << mantissa)));
   return b.CreateSelect(special, x, significand);
}

/// x * 2^e by two factors, so that neither over- nor underflows before the product does.
Value *emit_ldexp(Alu &a)
{
   if (a.op() != nir_op_ldexp)
      return nullptr;
   llvm::IRBuilder<> &b = a.b;
   const unsigned bits = a.bits();
   const int64_t least = bits == 64 ? -2044 : -252, most = bits == 64 ? 2046 : 254;
   Value *e = a.binary(llvm::Intrinsic::smax, a.src[1], a.constant(32, least));
   e = a.binary(llvm::Intrinsic::smin, e, a.constant(32, most));
   Value *first = b.CreateAShr(e, a.constant(32, 1));
   Value *second = b.CreateSub(e, first);
   Value *x = a.f(0);
   x = b.CreateFMul(x, power_of_two(a, a.sext(first, bits), bits));
   return b.CreateFMul(x, power_of_two(a, a.sext(second, bits), bits));
}

} // namespace

Value *power_of_two(Alu &a, Value *e, unsigned n)
{
   Value *biased = a.b.CreateAdd(e, a.constant(n, n == 32 ? 127 : 1023));
   return a.t.as_float(a.b.CreateShl(biased, a.constant(n, n == 32 ? 23 : 52)));
}

namespace {

/// CPUs without AVX512-FP16 compute in f32.  LLVM does that well for basic arithmetic; for the rest it would take
/// vectors of half apart, so they are widened here, behind a fence that keeps InstCombine from narrowing them again.
bool wants_widening(Alu &a)
{
   switch (a.op()) {
   case nir_op_fadd:
   case nir_op_fsub:
   case nir_op_fmul:
   case nir_op_fdiv:
   case nir_op_frcp:
   case nir_op_fneg:
   case nir_op_fabs: return false;
   default:
      return nir_alu_type_get_base_type(nir_op_infos[a.op()].input_types[0]) == nir_type_float && a.src_bits() == 16;
   }
}

Value *fence(Alu &a, Value *v)
{
   return a.b.CreateArithmeticFence(v, v->getType());
}

Value *emit_any_width(Alu &a)
{
   for (auto emit : {emit_arithmetic, emit_compare, emit_float_select, emit_frexp, emit_ldexp}) {
      if (Value *v = emit(a))
         return v;
   }
   return nullptr;
}

/// Is it an operation of this file?  The conversions and emit_math.cc deal with f16 themselves.
bool is_float_operation(nir_op op)
{
   return !nir_op_infos[op].is_conversion && op != nir_op_fsin && op != nir_op_fcos && op != nir_op_fexp2 &&
          op != nir_op_flog2 && op != nir_op_fpow;
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
   if (a.bits() == 16 && nir_alu_type_get_base_type(nir_op_infos[a.op()].output_type) == nir_type_float)
      wide.result_bits = 32;
   Value *v = emit_any_width(wide);
   return v && wide.result_bits != a.bits() ? to_half(a, fence(a, v), false) : v;
}

} // namespace weft::cpu
