// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Translates a NIR compute shader, in the form that finish_for_cpu() produces (passes.h), to an
/// LLVM module with one function, kernel_symbol (jit.h), which runs one subgroup.

#pragma once

#include "backend/cpu/compiler.h"
#include "nir_passes/result.h"

#include <memory>

struct nir_shader;

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace weft::cpu {

struct TranslateOptions {
   uint32_t subgroup_size; ///< W: 8, 16, 32 or 64
   HostTarget target;
   bool robust_buffer_access;     ///< see CompileOptions
   bool guards_may_leave = false; ///< whether the kernel may return false (abi.h)
};

struct Translation {
   std::unique_ptr<llvm::Module> module;
   ProgramInfo info;
   bool leaves; ///< whether a guard of the kernel leaves (guard_plan.h)
   AccessCounts accesses;
};

/// The needs of the program that a shader in that form becomes.
ProgramInfo program_info(nir_shader *, uint32_t subgroup_size);

/// Translates the shader's entry point. An instruction without a translation is an Error that names
/// it.
Result<Translation> nir_to_llvm(nir_shader *shader, const TranslateOptions &, llvm::LLVMContext &);

} // namespace weft::cpu
