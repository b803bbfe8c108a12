// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Conversions between types. A float outside of an integer type's range becomes some integer, as
/// in SPIR-V, but never LLVM's poison. For unsigned types of 32 and 64 bits it becomes the nearest
/// integer, and NaN becomes zero, as on GPUs: the CTS expects zero for negative numbers.

#include "backend/cpu/codegen/emit/emit_alu.h"

#include <algorithm>
#include <cmath>

namespace weft::cpu {

using llvm::Value;

namespace {

/// Rounds f64 to f32 "to odd": an inexact result gets an odd last bit. Rounding it to f16 then
/// gives the same result as one direct rounding.
Value *round_to_odd(Alu &a, Value *x)
{
   llvm::IRBuilder<> &b = a.b;
   Value *nearest = a.fcast(x, 32);
   Value *back = a.fcast(nearest, 64);
   Value *inexact = b.CreateFCmpONE(back, x);
   Value *beyond =
      b.CreateFCmpOGT(a.unary(llvm::Intrinsic::fabs, back), a.unary(llvm::Intrinsic::fabs, x));
   Value *bits = a.t.as_int(nearest);
   bits = b.CreateSub(bits, a.zext(beyond, 32)); // toward zero
   return a.t.as_float(b.CreateOr(bits, a.zext(inexact, 32)));
}

} // namespace

Value *to_half(Alu &a, Value *x, bool toward_zero)
{
   llvm::IRBuilder<> &b = a.b;
   if (x->getType()->getScalarSizeInBits() == 16)
      return a.t.as_int(x);
   if (x->getType()->getScalarSizeInBits() == 64)
      x = round_to_odd(a, x);
   Value *nearest = b.CreateFPTrunc(x, a.floats(16));
   Value *bits = a.t.as_int(nearest);
   if (!toward_zero)
      return bits;
   Value *back = a.unary(llvm::Intrinsic::fabs, a.fcast(nearest, 32));
   Value *beyond = b.CreateFCmpOGT(back, a.unary(llvm::Intrinsic::fabs, x));
   return b.CreateSub(bits, a.zext(beyond, 16));
}

namespace {

/// Converts f64 to f32, toward zero.
Value *to_float_toward_zero(Alu &a, Value *x)
{
   Value *nearest = a.fcast(x, 32);
   Value *back = a.unary(llvm::Intrinsic::fabs, a.fcast(nearest, 64));
   Value *beyond = a.b.CreateFCmpOGT(back, a.unary(llvm::Intrinsic::fabs, x));
   return a.t.as_float(a.b.CreateSub(a.t.as_int(nearest), a.zext(beyond, 32)));
}

Value *float_to_float(Alu &a, Value *x, unsigned bits, nir_op op)
{
   const unsigned mode = a.t.shader->info.float_controls_execution_mode;
   if (bits == 16) {
      const bool toward_zero =
         op == nir_op_f2f16_rtz || (op != nir_op_f2f16_rtne && nir_is_rounding_mode_rtz(mode, 16));
      return to_half(a, x, toward_zero);
   }
   if (bits == 32 && a.src_bits() == 64 && nir_is_rounding_mode_rtz(mode, 32))
      return to_float_toward_zero(a, x);
   return a.fcast(x, bits);
}

Value *integer_to_float(Alu &a, bool is_signed, unsigned bits)
{
   // f16 goes through f32, which is exact for all integers up to f16's largest number.
   llvm::Type *type = a.floats(bits == 16 ? 32 : bits);
   // CPUs convert whole words. In a word, a byte that was part of one is a shift and a mask,
   // without a detour through bytes.
   const unsigned from = std::max(a.src_bits(), 32u);
   Value *x = is_signed ? a.b.CreateSIToFP(a.sext(a.src[0], from), type)
                        : a.b.CreateUIToFP(a.zext(a.src[0], from), type);
   return bits == 16 ? to_half(a, x, false) : x;
}

/// Numbers out of range become the nearest integer, NaN becomes 0.
Value *to_unsigned(Alu &a, Value *x, unsigned bits)
{
   llvm::IRBuilder<> &b = a.b;
   if (!x->getType()->isVectorTy())
      return b.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {a.ints(bits), x->getType()}, {x});
   // LLVM would convert the lanes of a vector one by one.
   Value *zero = llvm::ConstantFP::get(x->getType(), 0),
         *beyond = llvm::ConstantFP::get(x->getType(), std::ldexp(1.0, int(bits)));
   Value *is_positive = b.CreateFCmpOGT(x, zero), *is_large = b.CreateFCmpOGE(x, beyond);
   Value *inside = b.CreateAnd(is_positive, b.CreateNot(is_large)),
         *integer = b.CreateFPToUI(b.CreateSelect(inside, x, zero), a.ints(bits));
   return b.CreateSelect(is_large, llvm::Constant::getAllOnesValue(integer->getType()), integer);
}

Value *float_to_integer(Alu &a, bool is_signed, unsigned bits)
{
   Value *x = a.f(0);
   if (a.src_bits() == 16)
      x = a.fcast(x, 32);
   if (!is_signed && bits >= 32)
      return to_unsigned(a, x, bits);
   // The CPU has the wider conversion; truncation gives the narrow result.
   Value *integer = a.b.CreateFPToSI(x, a.ints(std::max(bits, 32u)));
   return a.zext(a.b.CreateFreeze(integer), bits);
}

} // namespace

Value *emit_convert(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   const nir_op op = a.op();
   switch (op) {
   case nir_op_f2f16:
   case nir_op_f2f16_rtne:
   case nir_op_f2f16_rtz:
   case nir_op_f2f32:
   case nir_op_f2f64:
      return float_to_float(a, a.f(0), a.bits(), op);
   case nir_op_f2i8:
   case nir_op_f2i16:
   case nir_op_f2i32:
   case nir_op_f2i64:
      return float_to_integer(a, true, a.bits());
   case nir_op_f2u8:
   case nir_op_f2u16:
   case nir_op_f2u32:
   case nir_op_f2u64:
      return float_to_integer(a, false, a.bits());
   case nir_op_i2f16:
   case nir_op_i2f32:
   case nir_op_i2f64:
      return integer_to_float(a, true, a.bits());
   case nir_op_u2f16:
   case nir_op_u2f32:
   case nir_op_u2f64:
      return integer_to_float(a, false, a.bits());
   case nir_op_i2i8:
   case nir_op_i2i16:
   case nir_op_i2i32:
   case nir_op_i2i64:
      return a.sext(a.src[0], a.bits());
   case nir_op_u2u8:
   case nir_op_u2u16:
   case nir_op_u2u32:
   case nir_op_u2u64:
      return a.zext(a.src[0], a.bits());
   case nir_op_b2i8:
   case nir_op_b2i16:
   case nir_op_b2i32:
   case nir_op_b2i64:
      return a.zext(a.src[0], a.bits());
   case nir_op_b2f16:
   case nir_op_b2f32:
   case nir_op_b2f64:
      return b.CreateSelect(a.src[0], a.real(a.bits(), 1.0), a.real(a.bits(), 0.0));
   case nir_op_b2b1:
      return b.CreateIsNotNull(a.src[0]);
   case nir_op_b2b32:
      return a.sext(a.src[0], 32);
   default:
      return nullptr;
   }
}

} // namespace weft::cpu
