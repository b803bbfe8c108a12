// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integer operations.  Nothing here may fault or be poison, whatever inactive lanes hold: shift counts are masked and
/// divisors are made nonzero.

#include "backend/cpu/emit_alu.h"

namespace weft::cpu {

using llvm::Intrinsic::ID;
using llvm::Value;

namespace {

/// NIR's shift counts are 32 bits wide and count modulo the width of what is shifted.
Value *shift_count(Alu &a, Value *count, unsigned bits)
{
   return a.zext(a.b.CreateAnd(count, a.like(count, bits - 1)), bits);
}

/// x / y toward zero through a floating-point type that holds both exactly.  Its quotient is right: x / y lies at
/// least 1/y below the next integer, which is more than the type's rounding error for operands of at most 32 (f64) or
/// 16 bits (f32).  Vectors of these divide many times faster than lane by lane.
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

enum class Division { quotient, remainder, modulus };

/// Division by zero gives zero, as NIR's constant folding has it.
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
         // The least integer by -1 overflows: divide by 1 instead and negate.
         negates = b.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(y->getType()));
         y = b.CreateSelect(negates, a.constant(a.bits(), 1), y);
      }
   }

   const bool by_floats = vector && !harmless && a.bits() <= 32;
   Value *quotient = nullptr, *remainder = nullptr;
   if (by_floats)
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
         // A remainder of the other sign than the divisor's moves by one divisor.
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
   return a.b.CreateTrunc(a.b.CreateLShr(product, llvm::ConstantInt::get(wide, bits)), a.ints(bits));
}

Value *emit_arithmetic(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   auto &s = a.src;
   switch (a.op()) {
   case nir_op_iadd: return b.CreateAdd(s[0], s[1]);
   case nir_op_isub: return b.CreateSub(s[0], s[1]);
   case nir_op_imul:
   case nir_op_amul: return b.CreateMul(s[0], s[1]);
   case nir_op_iadd3: return b.CreateAdd(b.CreateAdd(s[0], s[1]), s[2]);
   case nir_op_imad: return b.CreateAdd(b.CreateMul(s[0], s[1]), s[2]);
   case nir_op_ineg: return b.CreateNeg(s[0]);
   case nir_op_iabs: return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, s[0], b.getFalse());
   case nir_op_isign: {
      Value *zero = a.constant(a.bits(), 0);
      Value *positive = b.CreateZExt(b.CreateICmpSGT(s[0], zero), a.ints(a.bits()));
      return b.CreateOr(positive, b.CreateAShr(s[0], a.constant(a.bits(), a.bits() - 1)));
   }
   case nir_op_iadd_sat: return a.binary(llvm::Intrinsic::sadd_sat, s[0], s[1]);
   case nir_op_uadd_sat: return a.binary(llvm::Intrinsic::uadd_sat, s[0], s[1]);
   case nir_op_isub_sat: return a.binary(llvm::Intrinsic::ssub_sat, s[0], s[1]);
   case nir_op_usub_sat: return a.binary(llvm::Intrinsic::usub_sat, s[0], s[1]);
   case nir_op_imin: return a.binary(llvm::Intrinsic::smin, s[0], s[1]);
   case nir_op_umin: return a.binary(llvm::Intrinsic::umin, s[0], s[1]);
   case nir_op_imax: return a.binary(llvm::Intrinsic::smax, s[0], s[1]);
   case nir_op_umax: return a.binary(llvm::Intrinsic::umax, s[0], s[1]);
   case nir_op_idiv: return divide(a, true, Division::quotient);
   case nir_op_udiv: return divide(a, false, Division::quotient);
   case nir_op_irem: return divide(a, true, Division::remainder);
   case nir_op_umod: return divide(a, false, Division::remainder);
   case nir_op_imod: return divide(a, true, Division::modulus);
   case nir_op_udiv_aligned_4: return b.CreateLShr(s[0], a.constant(a.bits(), 2));
   case nir_op_imul_high: return multiply_high(a, true);
   case nir_op_umul_high: return multiply_high(a, false);
   case nir_op_imul_2x32_64: return b.CreateMul(a.sext(s[0], 64), a.sext(s[1], 64));
   case nir_op_umul_2x32_64: return b.CreateMul(a.zext(s[0], 64), a.zext(s[1], 64));
   case nir_op_imul_32x16: return b.CreateMul(s[0], a.sext(a.zext(s[1], 16), 32));
   case nir_op_umul_32x16: return b.CreateMul(s[0], a.zext(a.zext(s[1], 16), 32));
   case nir_op_uadd_carry: return a.zext(b.CreateICmpULT(b.CreateAdd(s[0], s[1]), s[0]), a.bits());
   case nir_op_usub_borrow: return a.zext(b.CreateICmpULT(s[0], s[1]), a.bits());
   case nir_op_ihadd:
   case nir_op_uhadd: {
      Value *half = a.op() == nir_op_ihadd
                       ? b.CreateAShr(b.CreateXor(s[0], s[1]), a.constant(a.bits(), 1))
                       : b.CreateLShr(b.CreateXor(s[0], s[1]), a.constant(a.bits(), 1));
      return b.CreateAdd(b.CreateAnd(s[0], s[1]), half);
   }
   case nir_op_irhadd:
   case nir_op_urhadd: {
      Value *half = a.op() == nir_op_irhadd
                       ? b.CreateAShr(b.CreateXor(s[0], s[1]), a.constant(a.bits(), 1))
                       : b.CreateLShr(b.CreateXor(s[0], s[1]), a.constant(a.bits(), 1));
      return b.CreateSub(b.CreateOr(s[0], s[1]), half);
   }
   case nir_op_uabs_isub:
      return b.CreateSub(a.binary(llvm::Intrinsic::smax, s[0], s[1]), a.binary(llvm::Intrinsic::smin, s[0], s[1]));
   case nir_op_uabs_usub:
      return b.CreateSub(a.binary(llvm::Intrinsic::umax, s[0], s[1]), a.binary(llvm::Intrinsic::umin, s[0], s[1]));
   default: return nullptr;
   }
}

Value *emit_compare(Alu &a)
{
   llvm::CmpInst::Predicate predicate;
   switch (a.op()) {
   WEFT_COMPARISON(ieq): predicate = llvm::CmpInst::ICMP_EQ; break;
   WEFT_COMPARISON(ine): predicate = llvm::CmpInst::ICMP_NE; break;
   WEFT_COMPARISON(ilt): predicate = llvm::CmpInst::ICMP_SLT; break;
   WEFT_COMPARISON(ige): predicate = llvm::CmpInst::ICMP_SGE; break;
   WEFT_COMPARISON(ult): predicate = llvm::CmpInst::ICMP_ULT; break;
   WEFT_COMPARISON(uge): predicate = llvm::CmpInst::ICMP_UGE; break;
   case nir_op_bitnz:
   case nir_op_bitz: {
      Value *shifted = a.b.CreateLShr(a.src[0], shift_count(a, a.src[1], a.src_bits()));
      Value *bit = a.zext(shifted, 1);
      return a.boolean(a.op() == nir_op_bitnz ? bit : a.b.CreateNot(bit));
   }
   default: return nullptr;
   }
   return a.boolean(a.b.CreateICmp(predicate, a.src[0], a.src[1]));
}

Value *emit_logic(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   auto &s = a.src;
   switch (a.op()) {
   case nir_op_iand: return b.CreateAnd(s[0], s[1]);
   case nir_op_ior: return b.CreateOr(s[0], s[1]);
   case nir_op_ixor: return b.CreateXor(s[0], s[1]);
   case nir_op_inot: return b.CreateNot(s[0]);
   case nir_op_ishl: return b.CreateShl(s[0], shift_count(a, s[1], a.bits()));
   case nir_op_ishr: return b.CreateAShr(s[0], shift_count(a, s[1], a.bits()));
   case nir_op_ushr: return b.CreateLShr(s[0], shift_count(a, s[1], a.bits()));
   case nir_op_urol:
   case nir_op_uror: {
      const ID id = a.op() == nir_op_urol ? llvm::Intrinsic::fshl : llvm::Intrinsic::fshr;
      return b.CreateIntrinsic(s[0]->getType(), id, {s[0], s[0], a.zext(s[1], a.bits())});
   }
   case nir_op_shfr:
      return b.CreateIntrinsic(s[0]->getType(), llvm::Intrinsic::fshr, {s[0], s[1], s[2]});
   case nir_op_bitfield_select:
      return b.CreateOr(b.CreateAnd(s[0], s[1]), b.CreateAnd(b.CreateNot(s[0]), s[2]));
   default: return nullptr;
   }
}

/// The number of zeros at one end of the operand, which is its width when it is zero.
Value *count_zeros(Alu &a, ID id, Value *v)
{
   return a.b.CreateBinaryIntrinsic(id, v, a.b.getFalse());
}

Value *emit_bit_counts(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   auto &s = a.src;
   const auto or_minus_one = [&](Value *is_none, Value *found) {
      return b.CreateSelect(is_none, a.constant(32, ~0u), a.zext(found, 32));
   };
   switch (a.op()) {
   case nir_op_bitfield_reverse: return a.unary(llvm::Intrinsic::bitreverse, s[0]);
   case nir_op_bit_count: return a.zext(a.unary(llvm::Intrinsic::ctpop, s[0]), 32);
   case nir_op_uclz: return count_zeros(a, llvm::Intrinsic::ctlz, s[0]);
   case nir_op_find_lsb:
      return or_minus_one(b.CreateIsNull(s[0]), count_zeros(a, llvm::Intrinsic::cttz, s[0]));
   case nir_op_ufind_msb_rev:
      return or_minus_one(b.CreateIsNull(s[0]), count_zeros(a, llvm::Intrinsic::ctlz, s[0]));
   case nir_op_ufind_msb:
   case nir_op_ifind_msb:
   case nir_op_ifind_msb_rev: {
      const unsigned bits = a.src_bits();
      Value *v = s[0];
      if (a.op() != nir_op_ufind_msb) // the highest bit that differs from the sign
         v = b.CreateXor(v, b.CreateAShr(v, a.constant(bits, bits - 1)));
      Value *zeros = count_zeros(a, llvm::Intrinsic::ctlz, v);
      if (a.op() == nir_op_ifind_msb_rev)
         return or_minus_one(b.CreateIsNull(v), zeros);
      return or_minus_one(b.CreateIsNull(v), b.CreateSub(a.constant(bits, bits - 1), zeros));
   }
   default: return nullptr;
   }
}

/// The lowest `count` bits set, of 32; for 0 <= count < 32.
Value *low_bits(Alu &a, Value *count)
{
   return a.b.CreateSub(a.b.CreateShl(a.constant(32, 1), count), a.constant(32, 1));
}

Value *emit_bitfields(Alu &a)
{
   llvm::IRBuilder<> &b = a.b;
   auto &s = a.src;
   const auto five = [&](Value *v) { return b.CreateAnd(v, a.constant(32, 31)); };
   Value *zero = a.constant(32, 0);
   switch (a.op()) {
   case nir_op_bfm: return b.CreateShl(low_bits(a, five(s[0])), five(s[1]));
   case nir_op_bfi: {
      // The insert moves to the mask's lowest bit.
      Value *place = five(count_zeros(a, llvm::Intrinsic::cttz, s[0]));
      Value *moved = b.CreateAnd(b.CreateShl(s[1], place), s[0]);
      return b.CreateOr(b.CreateAnd(s[2], b.CreateNot(s[0])), moved);
   }
   case nir_op_ubfe:
   case nir_op_ibfe:
   case nir_op_ubitfield_extract:
   case nir_op_ibitfield_extract: {
      const bool is_signed = a.op() == nir_op_ibfe || a.op() == nir_op_ibitfield_extract;
      const bool shader_model_5 = a.op() == nir_op_ubfe || a.op() == nir_op_ibfe;
      Value *offset = five(s[1]), *bits = shader_model_5 ? five(s[2]) : s[2];
      Value *end = b.CreateAdd(offset, bits);
      // Up against the top, then down again.
      Value *room = b.CreateSub(a.constant(32, 32), end);
      Value *up = shader_model_5 ? b.CreateSelect(b.CreateICmpULT(end, a.constant(32, 32)), room, zero) : room;
      Value *field = b.CreateShl(s[0], five(up));
      Value *down = five(b.CreateSub(a.constant(32, 32), bits));
      if (shader_model_5)
         down = b.CreateSelect(b.CreateICmpULT(end, a.constant(32, 32)), down, offset);
      Value *result = is_signed ? b.CreateAShr(field, down) : b.CreateLShr(field, down);
      Value *none = b.CreateICmpEQ(bits, zero);
      if (!shader_model_5) {
         Value *outside = b.CreateICmpUGT(b.CreateAdd(s[1], s[2]), a.constant(32, 32));
         outside = b.CreateOr(outside, b.CreateICmpUGT(s[1], a.constant(32, 31)));
         outside = b.CreateOr(outside, b.CreateICmpUGT(s[2], a.constant(32, 32)));
         none = b.CreateOr(none, outside);
      }
      return b.CreateSelect(none, zero, result);
   }
   case nir_op_bitfield_insert: {
      Value *offset = five(s[2]);
      Value *field = b.CreateSelect(b.CreateICmpULT(s[3], a.constant(32, 32)), low_bits(a, five(s[3])),
                                    a.constant(32, ~0u));
      Value *mask = b.CreateShl(field, offset);
      Value *result = b.CreateOr(b.CreateAnd(s[0], b.CreateNot(mask)),
                                 b.CreateAnd(b.CreateShl(s[1], offset), mask));
      Value *outside = b.CreateICmpUGT(b.CreateAdd(s[2], s[3]), a.constant(32, 32));
      outside = b.CreateOr(outside, b.CreateICmpUGT(s[2], a.constant(32, 32)));
      outside = b.CreateOr(outside, b.CreateICmpUGT(s[3], a.constant(32, 32)));
      result = b.CreateSelect(outside, zero, result);
      return b.CreateSelect(b.CreateICmpEQ(s[3], zero), s[0], result);
   }
   case nir_op_extract_u8:
   case nir_op_extract_i8:
   case nir_op_extract_u16:
   case nir_op_extract_i16: {
      const bool byte = a.op() == nir_op_extract_u8 || a.op() == nir_op_extract_i8;
      const bool is_signed = a.op() == nir_op_extract_i8 || a.op() == nir_op_extract_i16;
      const unsigned n = byte ? 8 : 16, bits = a.bits();
      Value *shift = b.CreateAnd(b.CreateMul(s[1], a.like(s[1], n)), a.like(s[1], bits - 1));
      Value *part = a.zext(b.CreateLShr(s[0], shift), n);
      return is_signed ? a.sext(part, bits) : a.zext(part, bits);
   }
   case nir_op_insert_u8:
   case nir_op_insert_u16: {
      const unsigned n = a.op() == nir_op_insert_u8 ? 8 : 16, bits = a.bits();
      Value *shift = b.CreateAnd(b.CreateMul(s[1], a.like(s[1], n)), a.like(s[1], bits - 1));
      return b.CreateShl(a.zext(a.zext(s[0], n), bits), shift);
   }
   default: return nullptr;
   }
}

} // namespace

Value *emit_integer(Alu &a)
{
   for (auto emit : {emit_arithmetic, emit_compare, emit_logic, emit_bit_counts, emit_bitfields}) {
      if (Value *v = emit(a))
         return v;
   }
   return nullptr;
}

} // namespace weft::cpu
