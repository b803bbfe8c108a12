// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles SPIR-V to a program for this machine's CPU. A driver needs no other interface of the
/// compiler. NIR and LLVM do not appear in it.

#pragma once

#include "backend/cpu/abi.h"
#include "backend/cpu/cpu_features.h"
#include "nir_passes/matrix_support.h"
#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"
#include "nir_passes/shader_source.h"
#include "shader_cache/disk_cache.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::cpu {

/// Independent of the width of a vector register: applications size a workgroup's tiles by the
/// default subgroup and were tuned on GPUs of 32 or 64. With subgroups of 8, llama.cpp's matrix
/// shaders have no whole tile for a subgroup.
constexpr uint32_t default_subgroup_size = 32;
/// The size for shaders with matrices of workgroup scope, if the application allows any size: each
/// subgroup loads all of B, so few subgroups are better.
constexpr uint32_t workgroup_matrices_subgroup_size = 64;

/// Whether a shader has matrices of workgroup scope, by its specialization constants.
bool has_workgroup_matrices(const ShaderSource &);

/// The number of accesses in the code, except accesses to private memory.
struct AccessCounts {
   uint32_t uniform = 0;    ///< one address for the whole subgroup
   uint32_t contiguous = 0; ///< vectors
   uint32_t strided = 0;    ///< equal distances from lane to lane, at least within groups of lanes
   uint32_t gathered = 0;   ///< gathered or scattered: lane by lane
};

/// The times and results of one compilation.
struct CompileStatistics {
   /// The times of the translation to LLVM IR, LLVM's passes, its code generator, and the linker.
   double translation_ms = 0, optimisation_ms = 0, code_generation_ms = 0, link_ms = 0;
   uint64_t code_bytes = 0;
   std::vector<std::string> dropped_passes; ///< LLVM's passes that jit.cc drops, by their names
   AccessCounts accesses;
};

struct CompileOptions {
   uint32_t subgroup_size = 0; ///< 8, 16, 32 or 64; 0: default_subgroup_size
   /// The size may be another one if the shader cannot see it (subgroup_width.h).
   bool may_widen_subgroups = false;
   /// The memory blocks are DispatchState::sets, the descriptors BufferDescriptors.
   std::vector<BindingLayout> bindings;
   /// Whether images may be partially resident (Tiles).
   bool may_have_tiled_images = false;
   /// Out-of-bounds accesses through descriptors read zeros and write nothing.
   bool robust_buffer_access = true;
   /// Whether matrices become tiles or registers; unset: registers with WEFT_DEBUG=registers, else
   /// tiles.
   std::optional<bool> native_tiles = {};
   /// The largest instruction set to use; unset: the largest one of host_features().
   std::optional<InstructionSet> instruction_set = {};
   /// The matrices that the shader may use; unset: supported_matrices(). Matrices without a tile
   /// kernel are cut into the kernels' shapes, and padded.
   std::optional<MatrixSupport> matrices = {};
   /// If set, called with the text after each phase. Phases: each NIR pass by its name, "nir" for
   /// the input of the translator, "llvm" and "llvm-opt" before and after LLVM's passes, "asm".
   std::function<void(const char *phase, const std::string &text)> dump = {};
   PassControl *control = nullptr;          ///< skips optional NIR passes; may be null
   CompileStatistics *statistics = nullptr; ///< is filled in; may be null
};

struct ProgramInfo {
   std::array<uint32_t, 3> workgroup_size;
   uint32_t subgroup_size;
   uint32_t subgroups; ///< per workgroup
   /// A call of the kernel runs a subgroup of each of so many neighbouring workgroups along x, and
   /// their number in a dispatch is a multiple of it (join_workgroups.h).
   uint32_t joined_workgroups = 1;
   uint32_t shared_bytes;  ///< per workgroup
   uint32_t private_bytes; ///< per subgroup: invocations' arrays
   uint32_t stack_bytes;   ///< per subgroup: private_bytes and the generated code's spills
   bool uses_barrier;      ///< control barriers between the subgroups of a workgroup
   /// Per subgroup: values that live across barriers. 0: the kernel calls WorkgroupState::barrier;
   /// else it is a SteppedKernel.
   uint32_t frame_bytes = 0;
   /// Whether a kernel that the program calls needs a TileConfiguration.
   bool needs_tile_configuration = false;
};

class PlainProgram;

/// Machine code and its requirements. Immutable; any number of threads may run it at once.
class Program {
public:
   virtual ~Program() = default;
   virtual const ProgramInfo &info() const = 0;
   virtual Kernel kernel() const = 0;
   /// The program for subgroups that kernel() leaves (abi.h); null if it leaves none.
   virtual PlainProgram *plain() const { return nullptr; }
   /// Bytes for deserialize() by the same version of Weft on the same kind of CPU.
   virtual std::vector<std::byte> serialize() const = 0;
};

/// Rows and columns of matrices (cooperativeMatrixFlexibleDimensionsMaxDimension).
constexpr uint32_t max_matrix_dimension = 1024;

/// The matrices that compile() supports on this machine.
const MatrixSupport &supported_matrices();
/// The reason why no program can run in this process: instructions that the CPU lacks, or a shadow
/// stack. None if programs can run.
std::optional<std::string> missing_instructions();
/// The text for VkPhysicalDeviceProperties::deviceName: the CPU's brand string and the matrix
/// instructions in use.
std::string host_description();
/// The CPU's brand string alone.
std::string host_name();
/// Differs between processes that cannot share code from serialize(): by build, CPU features,
/// flags.
std::array<std::byte, 16> cache_uuid();

/// The facts about a dispatch that are known before it runs.
struct DispatchFacts {
   std::span<const std::byte> push_constants = {}; ///< the first ones; later ones are not known
   std::array<uint32_t, 3> base_workgroup = {};
   std::array<uint32_t, 3> num_workgroups = {}; ///< zeros: not known
   /// The sets' data, which nothing changes before the dispatch has run; empty: not known.
   std::array<std::span<const std::byte>, max_sets> sets = {};
};

/// Compiles one compute entry point. Thread-safe. Returns for any input: malformed SPIR-V and an
/// unsupported capability, matrix type, shape or scope are Errors with the reason. With facts, the
/// program is only for dispatches for which they are true.
Result<std::shared_ptr<const Program>> compile(const ShaderSource &, const CompileOptions &,
                                               const DispatchFacts * = nullptr);

/// A hash of everything that the result of compile() depends on.
CacheKey cache_key(const ShaderSource &, const CompileOptions &);

using ProgramResult = Result<std::shared_ptr<const Program>>;

/// The program of a dispatch; an Error if compiling fails without memory. Other threads may still
/// have to choose it, after the shader's passes, or to compile it.
class FutureProgram {
public:
   FutureProgram() = default;
   FutureProgram(std::shared_future<ProgramResult> code) : code(std::move(code)) {}
   /// The chosen program must live as long as this.
   FutureProgram(std::shared_future<const FutureProgram *> choice) : choice(std::move(choice)) {}

   bool is_ready() const
   {
      return choice.valid() ? is_there(choice) && choice.get()->is_ready() : is_there(code);
   }
   /// Waits.
   const ProgramResult &get() const { return choice.valid() ? choice.get()->get() : code.get(); }

private:
   static bool is_there(const auto &future)
   {
      return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
   }

   std::shared_future<ProgramResult> code;
   std::shared_future<const FutureProgram *> choice;
};

/// The program of the same shader whose kernel always returns true. Thread-safe.
class PlainProgram {
public:
   virtual ~PlainProgram() = default;
   /// The first call lets another thread compile it.
   virtual const FutureProgram &get() = 0;

   /// Whether dispatches begin with this program, because the other one left too many subgroups.
   std::atomic<bool> is_preferred = false;
};

/// The programs of a shader. If dispatches decide branches, the shader has a program for each way
/// that dispatches take, compiled for the first dispatch that takes it. Else it has one program,
/// compiled for the first dispatch. Thread-safe.
class Programs {
public:
   virtual ~Programs() = default;
   /// The members stack_bytes and needs_tile_configuration are not set, because they may differ
   /// between programs. Waits for the shader's passes.
   virtual const ProgramInfo &info() const = 0;
   /// The program for a dispatch, which lives as long as this.
   virtual const FutureProgram &program_for(const DispatchFacts &) = 0;
   /// Bytes for deserialize_programs() by the same version of Weft on the same kind of CPU. Waits
   /// for all programs that are being compiled. Empty if there is no memory for it.
   virtual std::vector<std::byte> serialize() const = 0;
};

/// Takes the programs from the cache or compiles them and stores them there. The cache may be null;
/// otherwise it must outlive the programs, and the threads that make them. Returns when all errors
/// of the shader are known. Other threads, as many as there are CPUs, do the other passes at once,
/// and the rest for dispatches. With dumps, statistics or a PassControl, it compiles one program
/// completely. Null if the cache has no programs and !may_compile.
Result<std::shared_ptr<Programs>> compile_cached(DiskCache *, const ShaderSource &,
                                                 const CompileOptions &, bool may_compile = true);

/// The inverse of Programs::serialize(); an Error for bytes that are truncated, damaged or of
/// another version. Further programs go into the cache under keys made from this one.
Result<std::shared_ptr<Programs>> deserialize_programs(std::span<const std::byte>, DiskCache *,
                                                       const CacheKey &);

/// The inverse of Program::serialize(); an Error for bytes that are truncated, damaged or of
/// another version. The program must have been compiled for these features.
Result<std::shared_ptr<const Program>> deserialize(std::span<const std::byte>,
                                                   const CpuFeatures & = host_features());

} // namespace weft::cpu
