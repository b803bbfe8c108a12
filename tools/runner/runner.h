// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles a compute shader by any path and runs it on this machine's CPU, without Vulkan. The
/// interface exposes neither NIR nor LLVM.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/runtime/executor.h"
#include "backend/spirv/compiler.h"
#include "nir_passes/result.h"
#include "nir_passes/shader_source.h"
#include "tools/runner/path.h"

#include <array>
#include <compare>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::runner {

/// The binding of a buffer, storage or uniform.
struct BufferPlace {
   uint32_t set = 0, binding = 0;
   uint32_t element = 0; ///< in an array of descriptors

   auto operator<=>(const BufferPlace &) const = default;
};

struct Buffer {
   BufferPlace place;
   std::vector<std::byte> bytes;
};

struct BufferView {
   BufferPlace place;
   std::span<std::byte> bytes;
};

struct Dispatch {
   ShaderSource source;
   std::vector<Buffer> buffers; ///< with their initial contents
   std::vector<std::byte> push_constants;
   std::array<uint32_t, 3> workgroups = {1, 1, 1};
   uint32_t threads = 1; ///< threads that run workgroups; 0: one per CPU
};

struct CompileOptions {
   /// For paths through SPIR-V: the driver below, except its matrices; unset: a driver with all
   /// features.
   std::optional<spirv::Driver> driver = {};
   /// cpu::CompileOptions::matrices; through SPIR-V its flexible operations.
   std::optional<MatrixSupport> matrices = {};
   /// For paths through SPIR-V with tiles: the operations of the driver below; unset: the CPU's.
   std::optional<std::vector<MatrixOperation>> native_operations = {};
   /// cpu::CompileOptions::dump; through SPIR-V, spirv::CompileOptions::dump's texts come first.
   std::function<void(const char *phase, const std::string &text)> dump = {};
   PassControl *control = nullptr; ///< of all NIR passes, before and after SPIR-V
   cpu::CompileStatistics *statistics = nullptr;
   const cpu::DispatchFacts *facts = nullptr; ///< of the dispatch that a specialized path is
                                              ///< compiled for
};

/// Compiles a shader whose buffers have these bindings.
Result<std::shared_ptr<const cpu::Program>> compile(const ShaderSource &,
                                                    std::span<const BufferPlace>, const Path &,
                                                    const CompileOptions & = {});

/// Runs a program from compile() on buffers with the same bindings in the same order. False without
/// memory for stacks or shared memory.
bool execute(cpu::Executor &, const cpu::Program &, std::span<const BufferView>,
             std::array<uint32_t, 3> workgroups, std::span<const std::byte> push_constants = {});

/// Compiles and runs; returns the final contents of the buffers, in order. A shader that writes
/// slightly out of its buffers is an Error too.
Result<std::vector<Buffer>> run(const Dispatch &, const Path &, const CompileOptions & = {});

} // namespace weft::runner
