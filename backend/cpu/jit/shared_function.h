// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Functions that programs share. The translator adds functions for lanewise accesses to its module
/// (codegen/access/lanewise_access.cc). They depend on the form of an access only, so a process
/// compiles each of them once, on another thread than the kernel.
///
/// A function's name contains a hash of its LLVM IR: equal names mean equal code.

#pragma once

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit/linked_object.h"
#include "nir_passes/result.h"

#include <sys/types.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace weft::cpu {

struct CompiledCode;

/// Thread-safe.
class SharedFunction {
public:
   /// By its LLVM IR (write_module()) or by its object file.
   enum class Form { module, object };
   SharedFunction(std::string name, Form form, std::vector<std::byte> bytes, const CpuFeatures &cpu)
       : symbol(std::move(name)), form(form), bytes(std::move(bytes)), cpu(cpu)
   {
   }

   /// The symbol by which kernels call it.
   const std::string &name() const { return symbol; }
   /// Compiles and links it on the calling thread, if no call has done so; other callers wait.
   /// Returns an error message, or an empty string. It never waits for work that has not begun.
   std::string compile();
   bool has_begun() const;
   bool is_compiled() const;

   // After compile() without an error.
   const LinkedObject &linked() const { return code->linked; }
   const std::vector<std::byte> &object() const { return code->object; }

private:
   struct Code {
      std::vector<std::byte> object;
      LinkedObject linked;
   };
   std::string compile_and_link(Code &) const;

   const std::string symbol;
   const Form form;
   const std::vector<std::byte> bytes; ///< of the form
   const CpuFeatures &cpu;

   mutable std::mutex mutex; ///< guards the members below
   std::condition_variable changed;
   pid_t worker = 0; ///< the process that compiles it: a forked child lacks its parent's threads
   std::unique_ptr<const Code> code; ///< is set once
};

/// Removes a module's internal functions that call no other function of the module. Returns the
/// process's functions in their place.
std::vector<std::shared_ptr<SharedFunction>> share_functions(llvm::Module &, const CpuFeatures &);

/// The bytes of code for write_program_file(), and their inverse:
///
///    number of functions | for each: name, object | the kernel's object
///
/// A number has 64 bits and precedes each name and object. Requires functions that are compiled.
std::vector<std::byte> write_code(const CompiledCode &);
Result<CompiledCode> read_code(std::span<const std::byte>, const CpuFeatures &);

/// LLVM IR as bytes for another context.
std::vector<std::byte> write_module(const llvm::Module &);
std::unique_ptr<llvm::Module> read_module(std::span<const std::byte>, llvm::LLVMContext &);

} // namespace weft::cpu
