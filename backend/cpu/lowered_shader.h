// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The stages from SPIR-V to a program. compile() in compiler.cc passes through all of them;
/// programs.cc keeps shaders after the first or the second.

#pragma once

#include "backend/cpu/codegen/nir_to_llvm.h"
#include "backend/cpu/plain_program.h"
#include "backend/cpu/specialize/branch_decisions.h"
#include "nir_passes/shader.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <string>

namespace weft::cpu {

/// The features of an instruction set, or an Error if this CPU lacks them. They are detected once
/// for each level.
Result<const CpuFeatures *> features_for(std::optional<InstructionSet>);

/// CompileOptions::dump, and a copy on stderr of the phases in WEFT_DEBUG.
using Dump = std::function<void(const char *phase, const std::string &text)>;
Dump with_debug_output(const Dump &);

/// A shader after the passes that find nearly all errors (read_for_cpu()).
struct ReadShader {
   Shader nir;
   const CpuFeatures *cpu;
   uint32_t subgroup_size;
   /// 0, or the size if the shader turns out to need too many registers for subgroup_size.
   uint32_t other_size;
};

/// A shader in NIR's final form (passes.h). All errors that it may have are known.
struct LoweredShader {
   Shader nir;
   const CpuFeatures *cpu;
   uint32_t subgroup_size;
   bool robust_buffer_access;
};

/// Translates SPIR-V to NIR and lowers matrices.
Result<ReadShader> read(const ShaderSource &, const CompileOptions &);

/// Runs the other passes on NIR except find_uniform_values(). The source is read again if the
/// subgroup size changes.
Result<LoweredShader> finish(ReadShader, const ShaderSource &, const CompileOptions &);

/// Both.
Result<LoweredShader> lower(const ShaderSource &, const CompileOptions &);

/// LLVM IR. The last stage depends on it alone, and fails only without memory or by a bug.
struct TranslatedShader {
   std::unique_ptr<llvm::LLVMContext> context;
   Translation translation;
   const CpuFeatures *cpu;
   std::shared_ptr<const KeptShader> kept; ///< if guards leave: for the plain program
};

/// The branches of a shader that a program leaves out.
struct Specialization {
   const BranchConditions &conditions;
   const BranchDecisions &decisions;
};

/// Translates NIR to LLVM IR. Uses only the options `dump`, `control` and `statistics`.
Result<TranslatedShader> translate(LoweredShader, const CompileOptions & = {},
                                   const Specialization * = nullptr);

/// Translates a shader that has passed find_uniform_values(), without guards that leave.
Result<TranslatedShader> translate_plain(const KeptShader &);

/// Runs LLVM's passes, generates machine code and links a callable program. Uses the same options.
ProgramResult generate(TranslatedShader, const CompileOptions & = {}, const CachePlace & = {});

} // namespace weft::cpu
