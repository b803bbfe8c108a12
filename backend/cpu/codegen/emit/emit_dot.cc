// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integer dot products of packed operands (SPV_KHR_integer_dot_product).

#include "backend/cpu/codegen/emit/emit_alu.h"
#include "backend/cpu/codegen/vectors/lane_arithmetic.h"
#include "backend/cpu/codegen/vectors/packed_values.h"
#include "backend/cpu/host/instructions.h"

#include <llvm/IR/PatternMatch.h>

#include <algorithm>

namespace weft::cpu {

using llvm::Value;

namespace {

struct Dot {
   bool a_signed, b_signed;
   bool saturate;
   /// If the unsigned one of two factors has bytes below 128: their largest value, else 0.
   uint8_t most = 0;
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

/// The dot product by words of vectors that fill a register (x, y, the sum: <4, 8 or 16 x i32>).
/// Bytes at even and at odd places are extended to i16, and their products are added in pairs.
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
   const auto add_products = [&](const auto &part) {
      Value *factors[] = {part(x, dot.a_signed), part(y, dot.b_signed)};
      sum = add_products_of_pairs(b, sum, factors[0], factors[1]);
   };
   add_products(even);
   add_products(odd);
   return sum;
}

/// The dot product of small bytes, for vectors of any length. Sums of two products are words, and a
/// chain adds further ones while these cannot overflow.
Value *dot_by_small_bytes(Alu &a, const Dot &dot, Value *x, Value *y, Value *sum)
{
   llvm::IRBuilder<> &b = a.b;
   const unsigned register_lanes = a.t.options.target.vector_bits / 32;
   auto *lanes = llvm::cast<llvm::FixedVectorType>(x->getType());
   const auto as_words = [&](Value *v) {
      const unsigned count = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
      return b.CreateBitCast(v, llvm::FixedVectorType::get(b.getInt16Ty(), 2 * count));
   };
   Value *factors[] = {dot.a_signed ? y : x, dot.a_signed ? x : y};
   WordSum now = {sum, nullptr, 2u * 128 * dot.most};
   now.words = in_parts(a.t, factors, register_lanes, [&](llvm::ArrayRef<Value *> v) {
      Value *words = products_of_small_bytes(b, v[0], v[1]);
      return b.CreateBitCast(words, v[0]->getType());
   });
   const WordSum so_far = a.t.lane_values.word_sum(sum);
   if (so_far.words && so_far.bound + now.bound <= INT16_MAX) {
      Value *words = b.CreateAdd(as_words(so_far.words), as_words(now.words));
      now = {so_far.before, b.CreateBitCast(words, lanes), so_far.bound + now.bound};
   }
   Value *terms[] = {now.before, now.words};
   Value *result = in_parts(a.t, terms, register_lanes, [&](llvm::ArrayRef<Value *> v) {
      Value *words = as_words(v[1]);
      return add_products_of_pairs(b, v[0], words, llvm::ConstantInt::get(words->getType(), 1));
   });
   a.t.lane_values.set_word_sum(result, now);
   return result;
}

/// The dot product with HostTarget::byte_dots, for vectors of any length. The instruction
/// multiplies unsigned bytes of x by signed bytes of y. Bytes of the other signedness are biased by
/// 128, and the excess that this adds to the sum is subtracted at the end; sums wrap. A chain
/// continues with the biased sum. Its excess is a sum of its own, which products with the same y
/// share.
Value *dot_by_bytes(Alu &a, const Dot &dot, Value *x, Value *y, Value *sum)
{
   llvm::IRBuilder<> &b = a.b;
   const auto add_products = [&](Value *to, Value *unsigned_bytes, Value *signed_bytes) {
      Value *operands[] = {to, unsigned_bytes, signed_bytes};
      return in_parts(
         a.t, operands, a.t.options.target.vector_bits / 32,
         [&](llvm::ArrayRef<Value *> v) { return add_products_of_bytes(b, v[0], v[1], v[2]); });
   };
   if (dot.a_signed && !dot.b_signed)
      return add_products(sum, y, x);
   if (!dot.a_signed && dot.b_signed)
      return add_products(sum, x, y);
   // the bias: 128 or -128 in each byte
   Value *sign_bits = llvm::ConstantInt::get(x->getType(), 0x80808080);
   Value *moved = b.CreateXor(dot.a_signed ? x : y, sign_bits);
   BiasedSum so_far = a.t.lane_values.biased(sum);
   if (!so_far.sum)
      so_far = {sum, llvm::Constant::getNullValue(x->getType())};
   BiasedSum now;
   if (dot.a_signed) // (x + 128) y - 128 y
      now = {add_products(so_far.sum, moved, y), add_products(so_far.excess, sign_bits, y)};
   else // x (y - 128) - x (-128)
      now = {add_products(so_far.sum, x, moved), add_products(so_far.excess, x, sign_bits)};
   Value *result = b.CreateSub(now.sum, now.excess);
   a.t.lane_values.set_biased(result, now);
   return result;
}

/// The bits that the bytes of a word may have, as when shaders unpack numbers of 4 or 5 bits. Bytes
/// without the highest bit are the same signed and unsigned.
uint8_t possible_bits(const nir_scalar &packed, unsigned depth = 0)
{
   constexpr unsigned most_depth = 4;
   const nir_scalar value = nir_scalar_chase_movs(packed);
   if (nir_scalar_is_const(value)) {
      const uint64_t word = nir_scalar_as_uint(value);
      return uint8_t(word | word >> 8 | word >> 16 | word >> 24);
   }
   if (!nir_scalar_is_alu(value) || depth == most_depth)
      return 0xff;
   const auto of = [&](unsigned source) {
      return possible_bits(nir_scalar_chase_alu_src(value, source), depth + 1);
   };
   switch (nir_scalar_alu_op(value)) {
   case nir_op_iand:
      return of(0) & of(1);
   case nir_op_ior:
   case nir_op_ixor:
      return of(0) | of(1);
   default:
      return 0xff;
   }
}

/// Chooses the signedness of each factor: one signed and one unsigned factor is best.
Dot factors_of(const nir_alu_instr *alu, Dot dot)
{
   uint8_t bits[2];
   for (unsigned i = 0; i < 2; i++)
      bits[i] = possible_bits(nir_get_scalar(alu->src[i].src.ssa, alu->src[i].swizzle[0]));
   if (bits[0] < 128)
      dot.a_signed = !dot.b_signed;
   else if (bits[1] < 128)
      dot.b_signed = !dot.a_signed;
   const uint8_t most = bits[dot.a_signed ? 1 : 0];
   if (dot.a_signed != dot.b_signed && most < 128)
      dot.most = std::max<uint8_t>(most, 1);
   return dot;
}

Value *products(Alu &a, const Dot &factors, llvm::ArrayRef<Value *> operands)
{
   if (a.t.options.target.byte_dots)
      return dot_by_bytes(a, factors, operands[0], operands[1], operands[2]);
   if (factors.most > 0)
      return dot_by_small_bytes(a, factors, operands[0], operands[1], operands[2]);
   return in_parts(
      a.t, operands, a.t.options.target.vector_bits / 32,
      [&](llvm::ArrayRef<Value *> v) { return dot_by_words(a, factors, v[0], v[1], v[2]); });
}

/// Bytes that are shifted and masked parts of other bytes. If all shifts are constant and keep the
/// parts within their bytes, the shift can follow the sum of products. The shift may differ from
/// lane to lane:
///
///   (x >> 4 & 0x0f0f0f0f) · y = (x & 0xf0f0f0f0) · y >> 4
struct ShiftedBytes {
   Value *unshifted;
   llvm::SmallVector<llvm::Constant *, 64> by; ///< per lane
};

std::optional<ShiftedBytes> shifted_bytes(Alu &a, Value *packed, unsigned components)
{
   using namespace llvm::PatternMatch;
   Value *whole;
   llvm::Constant *shifts, *masks;
   if (!match(packed, m_And(m_LShr(m_Value(whole), m_Constant(shifts)), m_Constant(masks))))
      return std::nullopt;
   ShiftedBytes parts{};
   llvm::SmallVector<llvm::Constant *, 256> moved;
   for (unsigned i = 0; i < a.t.W * components; i++) {
      const auto *shift = llvm::dyn_cast<llvm::ConstantInt>(shifts->getAggregateElement(i)),
                 *mask = llvm::dyn_cast<llvm::ConstantInt>(masks->getAggregateElement(i));
      if (!shift || !mask || shift->getZExtValue() >= 8)
         return std::nullopt;
      const unsigned by = unsigned(shift->getZExtValue());
      const auto bits = uint32_t(mask->getZExtValue());
      if (bits & (0xff00u >> by & 0xff) * 0x01010101u)
         return std::nullopt;
      moved.push_back(a.b.getInt32(bits << by));
      if (i % components == 0)
         parts.by.push_back(a.b.getInt32(by));
   }
   parts.unshifted = a.b.CreateAnd(whole, llvm::ConstantVector::get(moved));
   return parts;
}

/// The sum of the products of all components; null if the components are not available as packed
/// vectors.
Value *packed_sum(Alu &a, const Dot &dot, const PackedSum &sum)
{
   const Dot factors = factors_of(sum[0], dot);
   Value *operands[3];
   for (unsigned i = 0; i < 2; i++) {
      llvm::SmallVector<Value *, 4> components;
      for (nir_alu_instr *product : sum)
         components.push_back(a.t.varying(product->src[i].src, product->src[i].swizzle[0]));
      operands[i] = pack_in_place(a.t, components);
      if (!operands[i])
         return nullptr;
   }
   operands[2] = llvm::Constant::getNullValue(operands[0]->getType());
   std::optional<ShiftedBytes> parts;
   // Unshifted bytes need not be small.
   const bool may_unshift = a.t.options.target.byte_dots || factors.most == 0;
   for (unsigned i = 0; i < 2 && may_unshift && !parts; i++) {
      if (i == 0 ? factors.a_signed : factors.b_signed)
         continue;
      parts = shifted_bytes(a, operands[i], unsigned(sum.size()));
      if (parts)
         operands[i] = parts->unshifted;
   }
   Value *result = add_components(a.t, products(a, factors, operands), unsigned(sum.size()));
   if (!parts)
      return result;
   llvm::Constant *by = llvm::ConstantVector::get(parts->by);
   return factors.a_signed || factors.b_signed ? a.b.CreateAShr(result, by)
                                               : a.b.CreateLShr(result, by);
}

/// All products of a chain, as many as possible from packed vectors; null if none can be.
Value *sum_of_chain(Alu &a, const Dot &dot, const DotChain &chain)
{
   Value *sum = a.t.varying(chain.first->src[2].src, chain.first->src[2].swizzle[0]);
   llvm::SmallVector<nir_alu_instr *, 4> others = chain.others;
   bool any = false;
   for (const PackedSum &packed : chain.packed) {
      if (Value *v = packed_sum(a, dot, packed)) {
         sum = a.b.CreateAdd(sum, v);
         any = true;
      } else {
         others.append(packed.begin(), packed.end());
      }
   }
   if (!any)
      return nullptr;
   for (nir_alu_instr *product : others)
      sum = products(a, factors_of(product, dot),
                     {a.t.varying(product->src[0].src, product->src[0].swizzle[0]),
                      a.t.varying(product->src[1].src, product->src[1].swizzle[0]), sum});
   return sum;
}

} // namespace

Value *emit_dot_4x8(Alu &a)
{
   const std::optional<Dot> dot = dot_of(a.op());
   if (!dot)
      return nullptr;
   llvm::IRBuilder<> &b = a.b;
   // The chain's other products then have no uses.
   if (const DotChain *chain = a.t.facts->packed_sums.ending_in(a.instr)) {
      if (Value *sum = sum_of_chain(a, *dot, *chain))
         return sum;
   }
   const Dot factors = factors_of(a.instr, *dot);
   const auto sum_with = [&](Value *sum) -> Value * {
      Value *operands[] = {a.src[0], a.src[1], sum};
      if (a.src[0]->getType()->isVectorTy())
         return products(a, factors, operands);
      // A scalar goes into a register's first element.
      Value *zeros = llvm::Constant::getNullValue(llvm::FixedVectorType::get(b.getInt32Ty(), 4));
      for (Value *&operand : operands)
         operand = b.CreateInsertElement(zeros, operand, uint64_t(0));
      return b.CreateExtractElement(products(a, factors, operands), uint64_t(0));
   };
   if (!dot->saturate)
      return sum_with(a.src[2]);
   return a.binary(dot->a_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat,
                   sum_with(llvm::Constant::getNullValue(a.src[2]->getType())), a.src[2]);
}

} // namespace weft::cpu
