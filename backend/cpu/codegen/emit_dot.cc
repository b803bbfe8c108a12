// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Integer dot products of packed operands (SPV_KHR_integer_dot_product).

#include "backend/cpu/codegen/emit_alu.h"

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
   constexpr unsigned parts = 4;
   const unsigned count = (vector ? a.t.W : 1) * parts;
   auto *part_type = llvm::FixedVectorType::get(b.getInt8Ty(), count);
   auto *sum_type = llvm::FixedVectorType::get(b.getInt32Ty(), count);
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
   if (!dot->saturate)
      return b.CreateAdd(sum, a.src[2]);
   return a.binary(dot->a_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat, sum,
                   a.src[2]);
}

} // namespace weft::cpu
