// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles a compute shader by any of our paths and runs it on this machine's CPU, without Vulkan.
/// Neither NIR nor LLVM shows through.

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

/// Where a shader finds a buffer, storage or uniform.
struct BufferPlace {
   uint32_t set = 0, binding = 0;
   uint32_t element = 0; ///< of an array of descriptors

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
   std::vector<Buffer> buffers; ///< their contents at the beginning
   std::vector<std::byte> push_constants;
   std::array<uint32_t, 3> workgroups = {1, 1, 1};
   uint32_t threads = 1; ///< that run workgroups; 0: one per CPU
};

struct CompileOptions {
   /// Of the paths through SPIR-V: the driver below, less its matrices; unset: one that has
   /// everything.
   std::optional<spirv::Driver> driver = {};
   /// cpu::CompileOptions::matrices; through SPIR-V the flexible ones of them.
   std::optional<MatrixSupport> matrices = {};
   /// Of the paths through SPIR-V with tiles: those that the driver below has; unset: the CPU's.
   std::optional<std::vector<MatrixOperation>> native_operations = {};
   /// cpu::CompileOptions::dump; through SPIR-V also what spirv::CompileOptions::dump gets, before.
   std::function<void(const char *phase, const std::string &text)> dump = {};
   PassControl *control = nullptr; ///< of all NIR passes, before and behind SPIR-V
   cpu::CompileStatistics *statistics = nullptr;
   const cpu::DispatchFacts *facts = nullptr; ///< of the dispatch that a path is specialized for
};

/// Compiles a shader that finds its buffers in these places.
Result<std::shared_ptr<const cpu::Program>> compile(const ShaderSource &,
                                                    std::span<const BufferPlace>, const Path &,
                                                    const CompileOptions & = {});

/// Runs a program from compile() on buffers in the same places, in the same order.  False if memory
/// for stacks or shared memory ran out.
bool execute(cpu::Executor &, const cpu::Program &, std::span<const BufferView>,
             std::array<uint32_t, 3> workgroups, std::span<const std::byte> push_constants = {});

/// Compiles and runs: what the buffers hold at the end, in their order.  A shader that writes a
/// little outside of its buffers is an Error too.
Result<std::vector<Buffer>> run(const Dispatch &, const Path &, const CompileOptions & = {});

} // namespace weft::runner
