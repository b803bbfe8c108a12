// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A vector in memory, for code that visits one lane after the other.
///
/// If code extracts a lane with a variable number from a register, LLVM stores the whole vector
/// each time.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

class LaneArray {
public:
   /// Holds a vector, or a scalar that all lanes share.
   LaneArray(Translator &t, llvm::Value *value) : b(t.b), value(value)
   {
      if (!value->getType()->isVectorTy())
         return;
      memory = t.variable(value->getType());
      b.CreateStore(value, memory);
   }

   llvm::Value *lane(llvm::Value *number) const
   {
      return memory ? b.CreateLoad(value->getType()->getScalarType(), element(number)) : value;
   }
   /// set_lane() and vector() are for vectors only.
   void set_lane(llvm::Value *number, llvm::Value *v) { b.CreateStore(v, element(number)); }
   llvm::Value *vector() const { return b.CreateLoad(value->getType(), memory); }

private:
   llvm::Value *element(llvm::Value *number) const
   {
      return b.CreateGEP(value->getType()->getScalarType(), memory, number);
   }

   llvm::IRBuilder<> &b;
   llvm::Value *value;
   llvm::AllocaInst *memory = nullptr;
};

} // namespace weft::cpu
