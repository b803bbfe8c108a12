// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The stages between SPIR-V and a program, for callers that stop at one: compile() passes through
/// all of them, programs.cc keeps shaders at the first.

#pragma once

#include "backend/cpu/codegen/nir_to_llvm.h"
#include "nir_passes/shader.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <string>

namespace weft::cpu {

/// The features that a caller wants used, or an Error if this CPU lacks them.  Found out once for each
/// level.
Result<const CpuFeatures *> features_for(std::optional<InstructionSet>);

/// Of CompileOptions, with what WEFT_DEBUG names on stderr.
using Dump = std::function<void(const char *phase, const std::string &text)>;
Dump with_debug_output(const Dump &);

/// A shader in NIR's final form (passes.h), of which everything is known that may be wrong.
struct LoweredShader {
   Shader nir;
   const CpuFeatures *cpu;
   uint32_t subgroup_size;
   bool robust_buffer_access;
};

/// From SPIR-V to NIR, all of NIR's passes but those that tell uniform values from others.
Result<LoweredShader> lower(const ShaderSource &, const CompileOptions &);

/// LLVM IR.  The later stages depend on it alone, and fail only without memory or by a bug.
struct TranslatedShader {
   std::unique_ptr<llvm::LLVMContext> context;
   Translation translation;
   const CpuFeatures *cpu;
};

/// From NIR to LLVM IR.  Of the options only those count that watch and steer.
Result<TranslatedShader> translate(LoweredShader, const CompileOptions & = {});

/// LLVM's passes, machine code, a callable program.
Result<std::shared_ptr<const Program>> generate(TranslatedShader, const Dump & = {},
                                                CompileStatistics * = nullptr);

} // namespace weft::cpu
