// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/cpu/codegen/translator.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>

namespace weft::cpu::test {

/// A translator in the body of a function whose arguments are vectors of words. `arguments` has
/// each vector's number of words per invocation.
class VectorTest : public testing::Test {
protected:
   VectorTest(unsigned invocations, unsigned vector_bits, llvm::ArrayRef<unsigned> arguments)
       : shader(invocations, invocations),
         t(shader.b.shader,
           {.subgroup_size = invocations,
            .target = {.vector_bits = vector_bits,
                       .shuffles_two_registers = vector_bits == 512,
                       .masks_any_element = vector_bits == 512},
            .robust_buffer_access = true},
           context)
   {
      llvm::SmallVector<llvm::Type *, 2> types;
      for (const unsigned components : arguments)
         types.push_back(words(components));
      t.function = llvm::Function::Create(llvm::FunctionType::get(t.b.getVoidTy(), types, false),
                                          llvm::GlobalValue::ExternalLinkage, "test", *t.module);
      t.b.SetInsertPoint(t.block("body"));
   }

   llvm::FixedVectorType *words(unsigned components)
   {
      return llvm::FixedVectorType::get(t.b.getInt32Ty(), t.W * components);
   }

   unsigned shuffles() const
   {
      unsigned count = 0;
      for (const llvm::BasicBlock &block : *t.function)
         for (const llvm::Instruction &instruction : block)
            count += llvm::isa<llvm::ShuffleVectorInst>(instruction);
      return count;
   }

   NirShader shader;
   llvm::LLVMContext context;
   Translator t;
};

} // namespace weft::cpu::test
