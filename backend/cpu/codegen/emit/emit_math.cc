// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Transcendental functions: vector_math.h's for vectors. glibc's libmvec is accurate to 4 ULP and
/// handles infinities, NaN and denormals as libm does. libm's for uniform values. Powers of two are
/// instructions where the CPU has them.

#include "backend/cpu/codegen/emit/emit_alu.h"
#include "backend/cpu/codegen/vectors/lane_arithmetic.h"
#include "backend/cpu/host/instructions.h"
#include "backend/cpu/kernels/vector_math.h"

#include <algorithm>

namespace weft::cpu {

using llvm::Value;

namespace {

/// Calls the libm function `name` (f64; f32 appends an f) for an f32 or f64 operand.
Value *call_math(Alu &a, const char *name, Value *x)
{
   llvm::Type *type = x->getType();
   const unsigned bits = type->getScalarSizeInBits();
   const std::string function = bits == 32 ? std::string(name) + "f" : name;
   if (!type->isVectorTy())
      return a.t.call(function.c_str(), type, x);

   const unsigned lanes = std::min(a.t.options.target.vector_bits / bits, a.t.W);
   const std::string symbol = vector_math_symbol(function, lanes, bits);
   auto *part_type = llvm::FixedVectorType::get(type->getScalarType(), lanes);
   return in_parts(a.t, x, lanes, [&](llvm::ArrayRef<Value *> part) {
      return a.t.call(symbol.c_str(), part_type, part[0]);
   });
}

/// 2^x for f32 lanes, if scales_by_powers().
Value *exp2_of_lanes(Alu &a, Value *x)
{
   const unsigned lanes = std::min(a.t.options.target.vector_bits / 32, a.t.W);
   return in_parts(a.t, x, lanes,
                   [&](llvm::ArrayRef<Value *> part) { return exp2_of_register(a.t.b, part[0]); });
}

} // namespace

Value *emit_math(Alu &a)
{
   const char *name;
   switch (a.op()) {
   case nir_op_fsin:
      name = "sin";
      break;
   case nir_op_fcos:
      name = "cos";
      break;
   case nir_op_fexp2:
      if (scales_by_powers(a.t.options.target) && a.f(0)->getType()->isVectorTy() &&
          a.f(0)->getType()->getScalarSizeInBits() == 32)
         return exp2_of_lanes(a, a.f(0));
      name = "exp2";
      break;
   case nir_op_flog2:
      name = "log2";
      break;
   default:
      return nullptr;
   }
   return call_math(a, name, a.f(0));
}

} // namespace weft::cpu
