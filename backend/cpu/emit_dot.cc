// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integer dot products of packed operands (SPV_KHR_integer_dot_product).

#include "backend/cpu/emit_alu.h"

namespace weft::cpu {

using llvm::Value;

namespace {

struct Dot {
   unsigned part_bits; ///< 8: four parts, 16: two
   bool a_signed, b_signed;
   bool saturate;
};

std::optional<Dot> dot_of(nir_op op)
{
   switch (op) {
   case nir_op_sdot_4x8_iadd: return Dot{8, true, true, false};
   case nir_op_udot_4x8_uadd: return Dot{8, false, false, false};
   case nir_op_sudot_4x8_iadd: return Dot{8, true, false, false};
   case nir_op_sdot_4x8_iadd_sat: return Dot{8, true, true, true};
   case nir_op_udot_4x8_uadd_sat: return Dot{8, false, false, true};
   case nir_op_sudot_4x8_iadd_sat: return Dot{8, true, false, true};
   case nir_op_sdot_2x16_iadd: return Dot{16, true, true, false};
   case nir_op_udot_2x16_uadd: return Dot{16, false, false, false};
   case nir_op_sdot_2x16_iadd_sat: return Dot{16, true, true, true};
   case nir_op_udot_2x16_uadd_sat: return Dot{16, false, false, true};
   default: return std::nullopt;
   }
}

/// The sums of neighbours: half as many elements.
Value *add_pairs(Alu &a, Value *v)
{
   const unsigned n = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
   llvm::SmallVector<int, 128> even, odd;
   for (unsigned i = 0; i < n; i += 2) {
      even.push_back(int(i));
      odd.push_back(int(i + 1));
   }
   return a.b.CreateAdd(a.b.CreateShuffleVector(v, even), a.b.CreateShuffleVector(v, odd));
}

} // namespace

Value *emit_dot_4x8(Alu &a)
{
   const std::optional<Dot> dot = dot_of(a.op());
   if (!dot)
      return nullptr;
   llvm::IRBuilder<> &b = a.b;
   const bool vector = a.src[0]->getType()->isVectorTy();
   const unsigned parts = 32 / dot->part_bits, count = (vector ? a.t.W : 1) * parts;
   auto *part_type = llvm::FixedVectorType::get(a.t.int_type(dot->part_bits), count);
   // The sum of two products of unsigned 16-bit numbers needs 33 bits; where it saturates, all sums do.
   const bool wide = dot->part_bits == 16 && dot->saturate;
   auto *sum_type = llvm::FixedVectorType::get(a.t.int_type(wide ? 64 : 32), count);
   const auto widen = [&](Value *v, bool is_signed) {
      v = b.CreateBitCast(v, part_type);
      return is_signed ? b.CreateSExt(v, sum_type) : b.CreateZExt(v, sum_type);
   };
   // LLVM makes a vpmaddwd of this multiplication and the first sum.
   Value *sum = b.CreateMul(widen(a.src[0], dot->a_signed), widen(a.src[1], dot->b_signed));
   for (unsigned n = parts; n > 1; n /= 2)
      sum = add_pairs(a, sum);
   if (!vector)
      sum = b.CreateExtractElement(sum, uint64_t(0));
   if (!wide) {
      if (!dot->saturate)
         return b.CreateAdd(sum, a.src[2]);
      return a.binary(dot->a_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat, sum, a.src[2]);
   }
   if (dot->a_signed) {
      sum = b.CreateAdd(sum, a.sext(a.src[2], 64));
      sum = a.binary(llvm::Intrinsic::smin, sum, a.constant(64, INT32_MAX));
      sum = a.binary(llvm::Intrinsic::smax, sum, a.constant(64, uint64_t(int64_t(INT32_MIN))));
   } else {
      sum = b.CreateAdd(sum, a.zext(a.src[2], 64));
      sum = a.binary(llvm::Intrinsic::umin, sum, a.constant(64, UINT32_MAX));
   }
   return a.zext(sum, 32);
}

} // namespace weft::cpu
