// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Converts bytes of words to floats, as shaders do for quantized numbers, without shifts and
/// conversions.
///
/// The byte b stays where it is in the word and becomes part of a mantissa, to which a number is
/// added:
///
///      bit         31      23      15       8        0
///      the word     ........ ........ bbbbbbbb ........
///      2^15 + b     01000111 00000000 bbbbbbbb 00000000
///
/// Subtracting 2^15 - c, which is exact, gives b + c. That takes one instruction for the mask and
/// the exponent, and one for the difference. A byte at bit 16 must be less than 128, because bit 23
/// belongs to the exponent.

#include "backend/cpu/codegen/emit/emit_alu.h"

#include <llvm/Analysis/ValueTracking.h>

#include <cmath>

namespace weft::cpu {

using llvm::Value;

namespace {

struct ByteOfWord {
   nir_scalar word;
   unsigned bit; ///< the lowest bit
};

/// The byte of a word that u2f32 converts, if it was extracted in the block of `user`. Other blocks
/// may have been emitted twice (guard_plan.h): later blocks can use only the values that they
/// use in NIR.
std::optional<ByteOfWord> byte_of_word(nir_scalar x, const nir_instr &user)
{
   x = nir_scalar_chase_movs(nir_scalar_chase_alu_src(x, 0));
   if (!nir_scalar_is_alu(x) || nir_scalar_alu_op(x) != nir_op_u2u8)
      return std::nullopt;
   x = nir_scalar_chase_movs(nir_scalar_chase_alu_src(x, 0));
   unsigned bit = 0;
   if (nir_scalar_is_alu(x) && nir_scalar_alu_op(x) == nir_op_ushr) {
      const nir_scalar by = nir_scalar_chase_alu_src(x, 1);
      if (!nir_scalar_is_const(by))
         return std::nullopt;
      bit = unsigned(nir_scalar_as_uint(by));
      x = nir_scalar_chase_alu_src(x, 0);
   }
   if (x.def->parent_instr->block != user.block)
      return std::nullopt;
   if (x.def->bit_size != 32 || !x.def->divergent || (bit != 0 && bit != 8 && bit != 16))
      return std::nullopt;
   return ByteOfWord{x, bit};
}

/// The sum of a byte and an integer; null if the usual code is as good.
Value *sum_of_byte(Alu &a, const nir_scalar &converted, double more)
{
   constexpr double most = 4096; // f32 represents all differences below exactly
   const std::optional<ByteOfWord> byte = byte_of_word(converted, a.instr->instr);
   if (!byte || std::abs(more) > most || more != std::trunc(more) || (byte->bit == 0 && more == 0))
      return nullptr;
   llvm::IRBuilder<> &b = a.b;
   Value *word = a.t.value(*byte->word.def, byte->word.comp);
   if (byte->bit == 16 && !llvm::computeKnownBits(word, a.t.module->getDataLayout()).Zero[23])
      return nullptr;
   const uint32_t exponent = 23 - byte->bit;
   Value *masked = b.CreateAnd(word, a.like(word, uint64_t(0xff) << byte->bit)),
         *sum = b.CreateOr(masked, a.like(word, uint64_t(127 + exponent) << 23));
   return b.CreateFSub(a.t.as_float(sum), a.real(32, double(1u << exponent) - more));
}

bool is_conversion(const nir_scalar &x)
{
   return nir_scalar_is_alu(x) && nir_scalar_alu_op(x) == nir_op_u2f32;
}

} // namespace

Value *emit_byte(Alu &a)
{
   if (!a.instr->def.divergent || a.bits() != 32)
      return nullptr;
   const nir_scalar result = nir_get_scalar(&a.instr->def, a.component);
   if (is_conversion(result))
      return sum_of_byte(a, result, 0);
   if (a.op() != nir_op_fadd)
      return nullptr;
   for (unsigned i = 0; i < 2; i++) {
      const nir_scalar x = nir_scalar_chase_movs(nir_scalar_chase_alu_src(result, i)),
                       y = nir_scalar_chase_alu_src(result, 1 - i);
      if (is_conversion(x) && nir_scalar_is_const(y))
         return sum_of_byte(a, x, nir_scalar_as_float(y));
   }
   return nullptr;
}

} // namespace weft::cpu
