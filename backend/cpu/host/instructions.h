// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Instructions that LLVM's IR cannot express for all CPUs, and attributes of functions. The folder
/// of the CPU family implements them (x86/instructions.cc).

#pragma once

#include "backend/cpu/host/host_target.h"

#include <llvm/IR/IRBuilder.h>

namespace weft::cpu {

/// Registers LLVM's code generator for the family. Call it once.
void initialize_llvm_target();

/// Gives a function of generated code the attributes that vectors of HostTarget::vector_bits need.
void set_target_attributes(llvm::Function &, const HostTarget &);

/// Makes a function of generated code, or the call of a function, preserve all registers.
void preserve_registers(llvm::Function &);
void preserve_registers(llvm::CallBase &);

/// Permutes the lanes of one register: lane l gets v[index[l] mod lanes]. v and index have
/// HostTarget::vector_bits in lanes of i32, or fewer.
llvm::Value *permute_register(llvm::IRBuilder<> &, llvm::Value *v, llvm::Value *index);
/// Permutes the lanes of two registers, for HostTarget::shuffles_two_registers: lane l gets element
/// index[l] mod 2 · lanes of `first` and `second` in a row. All have HostTarget::vector_bits in
/// lanes of i32.
llvm::Value *permute_two_registers(llvm::IRBuilder<> &, llvm::Value *first, llvm::Value *second,
                                   llvm::Value *index);

/// sum + x · y. x and y are <2 n x i16> of signed numbers, sum is <n x i32>, and n lanes fill a
/// register: 4, 8 or 16.
llvm::Value *add_products_of_pairs(llvm::IRBuilder<> &, llvm::Value *sum, llvm::Value *x,
                                   llvm::Value *y);

/// Whether exp2_of_register() is for the CPU.
bool scales_by_powers(const HostTarget &);
/// 2^x within 1 ULP. Infinities, NaN and subnormal results are as with exp2f(). Before the call of
/// a function, in contrast, the caller would spill all vectors. x is <n x f32>, and n lanes fill a
/// register: 8 or 16.
llvm::Value *exp2_of_register(llvm::IRBuilder<> &, llvm::Value *x);

/// sum + u · s: products of four unsigned and four signed bytes, for HostTarget::byte_dots. The
/// operands are <n x i32>, and n lanes fill a register: 4, 8 or 16.
llvm::Value *add_products_of_bytes(llvm::IRBuilder<> &, llvm::Value *sum, llvm::Value *u,
                                   llvm::Value *s);

/// Sums of two products of unsigned bytes below 128 and signed bytes, on any CPU: <2n x i16> for
/// operands as above.
llvm::Value *products_of_small_bytes(llvm::IRBuilder<> &, llvm::Value *u, llvm::Value *s);

} // namespace weft::cpu
