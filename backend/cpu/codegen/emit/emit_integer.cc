// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integer operations. No code here may fault or be poison for any contents of inactive lanes:
/// shift counts are masked and divisors are made nonzero.

#include "backend/cpu/codegen/emit/emit_alu.h"

#include <llvm/IR/PatternMatch.h>

namespace weft::cpu {

using llvm::Value;

namespace {

/// NIR's shift counts are 32 bits wide and count modulo the width of the shifted number.
Value *shift_count(Alu &a, Value *count, unsigned bits)
{
   return a.zext(a.b.CreateAnd(count, a.like(count, bits - 1)), bits);
}

/// x / y toward zero through a floating-point type that represents both exactly. The quotient is
/// right: x / y lies at least 1/y below the next integer. That exceeds the type's rounding error
/// for operands of at most 32 (f64) or 16 bits (f32). Vectors of these types divide many times
/// faster than lane by lane.
Value *divide_as_floats(Alu &a, Value *x, Value *y, bool is_signed)
{
   const unsigned bits = a.bits();
   llvm::Type *type = a.floats(bits == 32 ? 64 : 32);
   const auto to_float = [&](Value *v) {
      return is_signed ? a.b.CreateSIToFP(v, type) : a.b.CreateUIToFP(v, type);
   };
   Value *quotient = a.b.CreateFDiv(to_float(x), to_float(y));
   // The quotient of the least integer and -1 is too large; freeze makes it some number.
   return a.b.CreateFreeze(is_signed ? a.b.CreateFPToSI(quotient, a.ints(bits))
                                     : a.b.CreateFPToUI(quotient, a.ints(bits)));
}

/// x / y of unsigned vectors for one y of all lanes, as (x + ½) · (1 / y) in such a type: one
/// multiply-add in place of a division. The exact number lies at least ½/y from each integer. The
/// roundings of 1 / y and of the sum move it by less: by 2^-20 / y for 32 bits, 2^-7 / y for 16.
Value *multiply_by_reciprocal(Alu &a, Value *x, Value *y)
{
   const unsigned bits = a.bits();
   llvm::Type *type = a.floats(bits == 32 ? 64 : 32);
   Value *reciprocal = a.b.CreateFDiv(llvm::ConstantFP::get(type->getScalarType(), 1),
                                      a.b.CreateUIToFP(a.t.first_lane(y), type->getScalarType()));
   Value *half = a.b.CreateFMul(reciprocal, llvm::ConstantFP::get(type->getScalarType(), 0.5));
   Value *quotient =
      a.b.CreateIntrinsic(llvm::Intrinsic::fma, {type},
                          {a.b.CreateUIToFP(x, type), a.t.splat(reciprocal), a.t.splat(half)});
   return a.b.CreateFPToUI(quotient, a.ints(bits));
}

enum class Division { quotient, remainder, modulus };

/// Division by zero gives zero, as in NIR's constant folding.
Value *divide(Alu &a, bool is_signed, Division kind)
{
   llvm::IRBuilder<> &b = a.b;
   Value *x = a.src[0], *y = a.src[1];
   const bool vector = x->getType()->isVectorTy();
   llvm::Constant *constant = llvm::dyn_cast<llvm::Constant>(y);
   const llvm::ConstantInt *known =
      !constant ? nullptr
      : vector  ? llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getSplatValue())
                : llvm::dyn_cast<llvm::ConstantInt>(constant);
   const bool harmless = known && !known->isZero() && !known->isMinusOne();

   Value *is_zero = nullptr, *negates = nullptr;
   if (!harmless) {
      y = b.CreateFreeze(y);
      is_zero = b.CreateIsNull(y);
      y = b.CreateSelect(is_zero, a.constant(a.bits(), 1), y);
      if (is_signed) {
         // The least integer divided by -1 overflows: divide by 1 instead and negate.
         negates = b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType()));
         y = b.CreateSelect(negates, a.constant(a.bits(), 1), y);
      }
   }

   const bool by_floats = vector && !harmless && a.bits() <= 32;
   Value *quotient = nullptr, *remainder = nullptr;
   if (by_floats && !is_signed && !a.instr->src[1].src.ssa->divergent)
      quotient = multiply_by_reciprocal(a, x, y);
   else if (by_floats)
      quotient = divide_as_floats(a, x, y, is_signed);
   else if (kind == Division::quotient)
      quotient = is_signed ? b.CreateSDiv(x, y) : b.CreateUDiv(x, y);
   else
      remainder = is_signed ? b.CreateSRem(x, y) : b.CreateURem(x, y);

   Value *result;
   if (kind == Division::quotient) {
      result = negates ? b.CreateSelect(negates, b.CreateNeg(quotient), quotient) : quotient;
   } else {
      if (!remainder)
         remainder = b.CreateSub(x, b.CreateMul(quotient, y));
      result = remainder;
      if (kind == Division::modulus) {
         // A modulus has the divisor's sign: a remainder of the other sign gets one divisor added.
         Value *divisor = a.src[1];
         Value *differs = b.CreateICmpSLT(b.CreateXor(remainder, divisor), a.constant(a.bits(), 0));
         Value *moves = b.CreateAnd(b.CreateIsNotNull(remainder), differs);
         result = b.CreateSelect(moves, b.CreateAdd(remainder, divisor), remainder);
      }
   }
   return is_zero ? b.CreateSelect(is_zero, a.constant(a.bits(), 0), result) : result;
}

Value *multiply_high(Alu &a, bool is_signed)
{
   const unsigned bits = a.bits();
   llvm::Type *wide = a.with(a.t.int_type(2 * bits));
   const auto widen = [&](Value *v) {
      return is_signed ? a.b.CreateSExt(v, wide) : a.b.CreateZExt(v, wide);
   };
   Value *product = a.b.CreateMul(widen(a.src[0]), widen(a.src[1]));
   return a.b.CreateTrunc(a.b.CreateLShr(product, llvm::ConstantInt::get(wide, bits)),
                          a.ints(bits));
}

Value *emit_integer_arithmetic(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   auto &s = a.src;
   switch (a.op()) {
   case nir_op_iadd:
      return b.CreateAdd(s[0], s[1]);
   case nir_op_isub:
      return b.CreateSub(s[0], s[1]);
   case nir_op_imul:
      return b.CreateMul(s[0], s[1]);
   case nir_op_ineg:
      return b.CreateNeg(s[0]);
   case nir_op_iabs:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, s[0], b.getFalse());
   case nir_op_iadd_sat:
      return a.binary(llvm::Intrinsic::sadd_sat, s[0], s[1]);
   case nir_op_uadd_sat:
      return a.binary(llvm::Intrinsic::uadd_sat, s[0], s[1]);
   case nir_op_isub_sat:
      return a.binary(llvm::Intrinsic::ssub_sat, s[0], s[1]);
   case nir_op_usub_sat:
      return a.binary(llvm::Intrinsic::usub_sat, s[0], s[1]);
   case nir_op_imin:
      return a.binary(llvm::Intrinsic::smin, s[0], s[1]);
   case nir_op_umin:
      return a.binary(llvm::Intrinsic::umin, s[0], s[1]);
   case nir_op_imax:
      return a.binary(llvm::Intrinsic::smax, s[0], s[1]);
   case nir_op_umax:
      return a.binary(llvm::Intrinsic::umax, s[0], s[1]);
   case nir_op_idiv:
      return divide(a, true, Division::quotient);
   case nir_op_udiv:
      return divide(a, false, Division::quotient);
   case nir_op_irem:
      return divide(a, true, Division::remainder);
   case nir_op_umod:
      return divide(a, false, Division::remainder);
   case nir_op_imod:
      return divide(a, true, Division::modulus);
   case nir_op_imul_high:
      return multiply_high(a, true);
   case nir_op_umul_high:
      return multiply_high(a, false);
   case nir_op_imul_2x32_64:
      return b.CreateMul(a.sext(s[0], 64), a.sext(s[1], 64));
   case nir_op_umul_2x32_64:
      return b.CreateMul(a.zext(s[0], 64), a.zext(s[1], 64));
   default:
      return nullptr;
   }
}

Value *emit_integer_compare(Alu &a)
{
   llvm::CmpInst::Predicate predicate;
   switch (a.op()) {
   case nir_op_ieq:
      predicate = llvm::CmpInst::ICMP_EQ;
      break;
   case nir_op_ine:
      predicate = llvm::CmpInst::ICMP_NE;
      break;
   case nir_op_ilt:
      predicate = llvm::CmpInst::ICMP_SLT;
      break;
   case nir_op_ige:
      predicate = llvm::CmpInst::ICMP_SGE;
      break;
   case nir_op_ult:
      predicate = llvm::CmpInst::ICMP_ULT;
      break;
   case nir_op_uge:
      predicate = llvm::CmpInst::ICMP_UGE;
      break;
   default:
      return nullptr;
   }
   return a.b.CreateICmp(predicate, a.src[0], a.src[1]);
}

/// x | y, if a load defined the whole number of which x and y are the halves; else null.
Value *joined_halves(Alu &a, Value *x, Value *y)
{
   using namespace llvm::PatternMatch;
   Value *low, *high;
   if (!match(x, m_ZExt(m_Value(low))) ||
       !match(y, m_Shl(m_ZExt(m_Value(high)), m_SpecificInt(16))))
      return nullptr;
   Value *whole = a.t.lane_values.word(low, high);
   return whole && whole->getType() == x->getType() ? whole : nullptr;
}

Value *emit_logic(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   auto &s = a.src;
   switch (a.op()) {
   case nir_op_iand:
      return b.CreateAnd(s[0], s[1]);
   case nir_op_ior:
      for (const auto &[x, y] : {std::pair(s[0], s[1]), std::pair(s[1], s[0])}) {
         if (Value *whole = joined_halves(a, x, y))
            return whole;
      }
      return b.CreateOr(s[0], s[1]);
   case nir_op_ixor:
      return b.CreateXor(s[0], s[1]);
   case nir_op_inot:
      return b.CreateNot(s[0]);
   case nir_op_ishl:
      return b.CreateShl(s[0], shift_count(a, s[1], a.bits()));
   case nir_op_ishr:
      return b.CreateAShr(s[0], shift_count(a, s[1], a.bits()));
   case nir_op_ushr:
      return b.CreateLShr(s[0], shift_count(a, s[1], a.bits()));
   default:
      return nullptr;
   }
}

Value *emit_bit_counts(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   Value *v = a.src[0];
   const auto or_minus_one = [&](Value *found) {
      return b.CreateSelect(b.CreateIsNull(v), a.constant(32, ~0u), a.zext(found, 32));
   };
   switch (a.op()) {
   case nir_op_bitfield_reverse:
      return a.unary(llvm::Intrinsic::bitreverse, v);
   case nir_op_bit_count:
      return a.zext(a.unary(llvm::Intrinsic::ctpop, v), 32);
   case nir_op_find_lsb:
      return or_minus_one(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, v, b.getFalse()));
   case nir_op_ufind_msb: {
      Value *zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, v, b.getFalse());
      return or_minus_one(b.CreateSub(a.like(v, a.src_bits() - 1), zeros));
   }
   default:
      return nullptr;
   }
}

} // namespace

Value *emit_integer(Alu &a)
{
   for (auto emit : {emit_integer_arithmetic, emit_integer_compare, emit_logic, emit_bit_counts}) {
      if (Value *v = emit(a))
         return v;
   }
   return nullptr;
}

} // namespace weft::cpu
