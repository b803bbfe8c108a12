// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Declarations that the files for ALU operations share.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// One component of an ALU instruction. Its operands are all scalars or all vectors over the lanes,
/// as integers. The code for an operation is the same in both cases.
struct Alu {
   Translator &t;
   llvm::IRBuilder<> &b;
   nir_alu_instr *instr;
   llvm::SmallVector<llvm::Value *, 4> src;
   unsigned result_bits = instr->def.bit_size;
   unsigned component = 0; ///< of the result

   nir_op op() const { return instr->op; }
   unsigned bits() const { return result_bits; }
   unsigned src_bits(unsigned i = 0) const { return src[i]->getType()->getScalarSizeInBits(); }
   llvm::Value *f(unsigned i) { return t.as_float(src[i]); }

   /// `scalar`, or a vector of it if the operands are vectors.
   llvm::Type *with(llvm::Type *scalar) const { return src[0]->getType()->getWithNewType(scalar); }
   llvm::Type *ints(unsigned n) const { return with(t.int_type(n)); }
   llvm::Type *floats(unsigned n) const { return with(t.float_type(n)); }
   llvm::Value *constant(unsigned n, uint64_t v) const
   {
      return llvm::ConstantInt::get(ints(n), v);
   }
   llvm::Value *like(llvm::Value *other, uint64_t v) const
   {
      return llvm::ConstantInt::get(other->getType(), v);
   }
   llvm::Value *real(unsigned n, double v) const { return llvm::ConstantFP::get(floats(n), v); }

   llvm::Value *zext(llvm::Value *v, unsigned n) { return b.CreateZExtOrTrunc(v, ints(n)); }
   llvm::Value *sext(llvm::Value *v, unsigned n) { return b.CreateSExtOrTrunc(v, ints(n)); }
   llvm::Value *fcast(llvm::Value *v, unsigned n) { return b.CreateFPCast(v, floats(n)); }
   llvm::Value *unary(llvm::Intrinsic::ID id, llvm::Value *v)
   {
      return b.CreateUnaryIntrinsic(id, v);
   }
   llvm::Value *binary(llvm::Intrinsic::ID id, llvm::Value *x, llvm::Value *y)
   {
      return b.CreateBinaryIntrinsic(id, x, y);
   }
};

// Each function returns the component's value, or null for an operation of another file.
llvm::Value *emit_byte(Alu &);    // emit_byte.cc: bytes of words as floats
llvm::Value *emit_integer(Alu &); // emit_integer.cc: arithmetic, comparison, bits
llvm::Value *emit_float(Alu &);   // emit_float.cc: arithmetic, comparison
llvm::Value *emit_math(Alu &);    // emit_math.cc: transcendental functions
llvm::Value *emit_convert(Alu &); // emit_convert.cc: conversions
llvm::Value *emit_dot_4x8(Alu &); // emit_dot.cc: integer dot products

/// f32 or f64 to f16 bits (i16), rounded to nearest even or toward zero.
llvm::Value *to_half(Alu &, llvm::Value *x, bool toward_zero);

} // namespace weft::cpu
