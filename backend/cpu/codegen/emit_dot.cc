// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integer dot products of packed operands (SPV_KHR_integer_dot_product).

#include "backend/cpu/codegen/emit_alu.h"
#include "backend/cpu/codegen/lane_arithmetic.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace weft::cpu {

using llvm::Value;

namespace {

struct Dot {
   bool a_signed, b_signed;
   bool saturate;
};

std::optional<Dot> dot_of(nir_op op)
{
   switch (op) {
   case nir_op_sdot_4x8_iadd:
      return Dot{true, true, false};
   case nir_op_udot_4x8_uadd:
      return Dot{false, false, false};
   case nir_op_sudot_4x8_iadd:
      return Dot{true, false, false};
   case nir_op_sdot_4x8_iadd_sat:
      return Dot{true, true, true};
   case nir_op_udot_4x8_uadd_sat:
      return Dot{false, false, true};
   case nir_op_sudot_4x8_iadd_sat:
      return Dot{true, false, true};
   default:
      return std::nullopt;
   }
}

/// Of vectors that fill a register (x, y, the sum: <4, 8 or 16 x i32>) with what every AVX2 has: the
/// bytes of even and of odd places as i16, whose products VPMADDWD adds by twos.
Value *dot_by_words(Alu &a, const Dot &dot, Value *x, Value *y, Value *sum)
{
   llvm::IRBuilder<> &b = a.b;
   const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
   auto *words = llvm::FixedVectorType::get(b.getInt16Ty(), 2 * lanes);
   const auto odd = [&](Value *v, bool is_signed) {
      v = b.CreateBitCast(v, words);
      return is_signed ? b.CreateAShr(v, 8) : b.CreateLShr(v, 8);
   };
   const auto even = [&](Value *v, bool is_signed) {
      return odd(b.CreateShl(b.CreateBitCast(v, words), 8), is_signed);
   };
   const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_pmaddw_d_512
                                        : lanes == 8 ? llvm::Intrinsic::x86_avx2_pmadd_wd
                                                     : llvm::Intrinsic::x86_sse2_pmadd_wd;
   const auto add_products = [&](const auto &part) {
      Value *factors[] = {part(x, dot.a_signed), part(y, dot.b_signed)};
      sum = b.CreateAdd(sum, b.CreateIntrinsic(multiply, {}, factors));
   };
   add_products(even);
   add_products(odd);
   return sum;
}

/// The same with VPDPBUSD, which takes unsigned bytes of x and signed ones of y.  Bytes that are not
/// so are moved by 128, and what that adds to the sum is taken off again; sums wrap.
Value *dot_by_vnni(Alu &a, const Dot &dot, Value *x, Value *y, Value *sum)
{
   llvm::IRBuilder<> &b = a.b;
   const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
   const llvm::Intrinsic::ID multiply = lanes == 16  ? llvm::Intrinsic::x86_avx512_vpdpbusd_512
                                        : lanes == 8 ? llvm::Intrinsic::x86_avx512_vpdpbusd_256
                                                     : llvm::Intrinsic::x86_avx512_vpdpbusd_128;
   const auto add_products = [&](Value *to, Value *unsigned_bytes, Value *signed_bytes) {
      return b.CreateIntrinsic(multiply, {}, {to, unsigned_bytes, signed_bytes});
   };
   Value *zero = llvm::Constant::getNullValue(x->getType());
   Value *sign_bits = llvm::ConstantInt::get(x->getType(), 0x80808080); // 128 or -128 in each byte
   if (dot.a_signed && !dot.b_signed)
      return add_products(sum, y, x);
   if (!dot.a_signed && dot.b_signed)
      return add_products(sum, x, y);
   Value *moved = b.CreateXor(dot.a_signed ? x : y, sign_bits);
   if (dot.a_signed) // (x + 128) y - 128 y
      return b.CreateSub(add_products(sum, moved, y), add_products(zero, sign_bits, y));
   // x (y - 128) - x (-128)
   return b.CreateSub(add_products(sum, x, moved), add_products(zero, x, sign_bits));
}

/// Bytes of which none has its highest bit set, as shaders unpack those of four bits: they are the
/// same with and without a sign.
bool have_no_sign(const nir_alu_instr *alu, unsigned source)
{
   const nir_scalar value =
      nir_scalar_chase_movs(nir_get_scalar(alu->src[source].src.ssa, alu->src[source].swizzle[0]));
   if (!nir_scalar_is_alu(value) || nir_scalar_alu_op(value) != nir_op_iand)
      return false;
   for (unsigned i = 0; i < 2; i++) {
      const nir_scalar mask = nir_scalar_chase_alu_src(value, i);
      if (nir_scalar_is_const(mask) && (nir_scalar_as_uint(mask) & 0x80808080) == 0)
         return true;
   }
   return false;
}

} // namespace

Value *emit_dot_4x8(Alu &a)
{
   const std::optional<Dot> dot = dot_of(a.op());
   if (!dot)
      return nullptr;
   llvm::IRBuilder<> &b = a.b;
   // A uniform operand takes the first place in a register.
   const bool vector = a.src[0]->getType()->isVectorTy();
   const unsigned lanes = vector ? std::min(a.t.W, a.t.options.vector_bits / 32) : 4;
   // Best is one with and one without a sign.
   Dot factors = *dot;
   if (have_no_sign(a.instr, 0))
      factors.a_signed = !factors.b_signed;
   else if (have_no_sign(a.instr, 1))
      factors.b_signed = !factors.a_signed;
   const auto products = [&](llvm::ArrayRef<Value *> v) {
      return a.t.options.vnni ? dot_by_vnni(a, factors, v[0], v[1], v[2])
                              : dot_by_words(a, factors, v[0], v[1], v[2]);
   };
   const auto sum_with = [&](Value *sum) -> Value * {
      Value *operands[] = {a.src[0], a.src[1], sum};
      if (vector)
         return in_parts(a.t, operands, lanes, products);
      Value *zeros =
         llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getInt32Ty(), lanes));
      for (Value *&operand : operands)
         operand = b.CreateInsertElement(zeros, operand, uint64_t(0));
      return b.CreateExtractElement(products(operands), uint64_t(0));
   };
   if (!dot->saturate)
      return sum_with(a.src[2]);
   return a.binary(dot->a_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat,
                   sum_with(llvm::Constant::getNullValue(a.src[2]->getType())), a.src[2]);
}

} // namespace weft::cpu
