// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Computes an address a second time, in another block or from other values.

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

class Rematerializer {
public:
   /// Copies every operation of an address, so that another block needs no value from this one.
   explicit Rematerializer(llvm::IRBuilder<> &b) : b(b), copies_all(true) {}
   /// Copies only the operations that depend on `value`, with `other` in its place.
   Rematerializer(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Value *other)
       : b(b), copies_all(false), copies{{value, other}}
   {
   }

   /// Returns v itself if no operation needs a copy, or at operations more than max_address_depth
   /// back.
   llvm::Value *operator()(llvm::Value *v, unsigned depth = 0)
   {
      if (const auto found = copies.find(v); found != copies.end())
         return found->second;
      auto *operation = llvm::dyn_cast<llvm::Instruction>(v);
      if (!operation || depth == max_address_depth || !is_copied(operation))
         return v;
      llvm::SmallVector<llvm::Value *, 2> operands;
      for (llvm::Value *operand : operation->operand_values())
         operands.push_back((*this)(operand, depth + 1));
      if (!copies_all && llvm::equal(operands, operation->operand_values()))
         return copies[v] = v;
      llvm::Instruction *copy = operation->clone();
      copy->dropPoisonGeneratingFlags(); // flags such as nuw may not hold for the new operands
      for (unsigned i = 0; i < operands.size(); i++)
         copy->setOperand(i, operands[i]);
      return copies[v] = b.Insert(copy);
   }

private:
   bool is_copied(const llvm::Instruction *operation) const
   {
      if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst>(operation))
         return false;
      return copies_all || !operation->isIntDivRem(); // the new divisor may be zero
   }

   llvm::IRBuilder<> &b;
   const bool copies_all;
   llvm::DenseMap<llvm::Value *, llvm::Value *> copies;
};

} // namespace weft::cpu
