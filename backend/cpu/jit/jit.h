// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles LLVM modules to machine code in memory, and restores it from cached bytes. The only
/// file of the back end that uses LLVM's passes, targets and linker.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/cpu_features.h"
#include "nir_passes/result.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace weft::cpu {

class SharedFunction;

/// The kernel's name in the module; its type is Kernel.
constexpr std::string_view kernel_symbol = "weft_kernel";

/// Sets the data layout and triple of an empty module, so that the translator can query type sizes.
void prepare_module(llvm::Module &);

/// Optimises the module and compiles it to an object file for a CPU. Errors of code generation, for
/// which LLVM would end the process, are returned. `dump` is CompileOptions::dump: it gets the
/// phases "llvm" (before optimisation), "llvm-opt" and "asm". Thread-safe for modules of different
/// contexts.
Result<std::vector<std::byte>>
compile_object(llvm::Module &,
               const std::function<void(const char *phase, const std::string &text)> &dump,
               const CpuFeatures & = host_features(), CompileStatistics * = nullptr);

/// Makes LLVM create its static objects now. At exit they are then destroyed after objects that are
/// created later, whose destructors wait for compiling threads.
void prepare_code_generation(const CpuFeatures & = host_features());

/// An object file with a kernel, and the functions of other objects that it calls.
struct CompiledCode {
   std::vector<std::byte> object;
   std::vector<std::shared_ptr<SharedFunction>> functions = {};
};

/// Links code in memory, with the tile kernels for a CPU. Compiles shared functions that no program
/// has had yet. The program keeps the objects' bytes for serialize().
Result<std::shared_ptr<const Program>> link_program(const ProgramInfo &, CompiledCode,
                                                    const CpuFeatures & = host_features());

} // namespace weft::cpu
