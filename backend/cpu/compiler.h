// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// From SPIR-V to a program for this machine's CPU.  The one interface that a driver needs; neither
/// NIR nor LLVM shows through it.

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
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::cpu {

/// Not the width of a vector register: programs size a workgroup's tiles by the default subgroup and
/// were tuned on GPUs of 32 or 64.  llama.cpp's matrix shaders leave subgroups of 8 no whole tile,
/// and give 32 invocations the work of one subgroup.
constexpr uint32_t default_subgroup_size = 32;
/// For matrices of workgroup scope, where the size is free: each subgroup loads all of B, so few are
/// better.
constexpr uint32_t workgroup_matrices_subgroup_size = 64;

/// Whether a shader has such, by its specialization constants.
bool has_workgroup_matrices(const ShaderSource &);

/// Accesses to memory other than invocations' own, as they stand in the code.
struct AccessCounts {
   uint32_t uniform = 0;    ///< one address for the whole subgroup
   uint32_t contiguous = 0; ///< vectors
   uint32_t strided = 0;    ///< the same distance from lane to lane, in groups of lanes at least
   uint32_t gathered = 0;   ///< and scattered: lane by lane
};

/// What one compilation took and what came out.
struct CompileStatistics {
   /// To LLVM IR, LLVM's passes, its code generator, the linker.
   double translation_ms = 0, optimisation_ms = 0, code_generation_ms = 0, link_ms = 0;
   uint64_t code_bytes = 0;
   uint32_t dropped_passes = 0; ///< of LLVM's code generator, known by their names (jit.cc)
   AccessCounts accesses;
};

struct CompileOptions {
   uint32_t subgroup_size = 0; ///< 8, 16, 32 or 64; 0: default_subgroup_size
   /// The memory blocks are DispatchState::sets, the descriptors BufferDescriptors.
   std::vector<BindingLayout> bindings;
   /// Out-of-bounds accesses through descriptors read zeros and write nothing.
   bool robust_buffer_access = true;
   /// Matrices become tiles, or else registers; unset: tiles, but for WEFT_DEBUG=registers.
   std::optional<bool> native_tiles = {};
   /// The most of the CPU's instructions to use; unset: those of host_features().
   std::optional<InstructionSet> instruction_set = {};
   /// What the program may use of matrices; unset: supported_matrices().  What is more than the tile
   /// kernels do is cut into their shapes, and padded.
   std::optional<MatrixSupport> matrices = {};
   /// Called with the text after each phase when set: the name of each NIR pass, "nir" when the
   /// translator gets it, "llvm" and "llvm-opt" before and after LLVM's passes, "asm".
   std::function<void(const char *phase, const std::string &text)> dump = {};
   PassControl *control = nullptr;          ///< of optional NIR passes, if wanted
   CompileStatistics *statistics = nullptr; ///< gets them, if wanted
};

struct ProgramInfo {
   std::array<uint32_t, 3> workgroup_size;
   uint32_t subgroup_size;
   uint32_t subgroups;     ///< per workgroup
   uint32_t shared_bytes;  ///< per workgroup
   uint32_t private_bytes; ///< per subgroup: invocations' arrays
   uint32_t stack_bytes;   ///< per subgroup: these, and what the generated code puts aside
   bool uses_barrier;      ///< control barriers between the subgroups of a workgroup
   /// Of the kernels that it is linked with one needs a TileConfiguration.
   bool needs_tile_configuration = false;
};

/// Machine code and what is needed to run it.  Immutable; may be run by many threads at once.
class Program {
public:
   virtual ~Program() = default;
   virtual const ProgramInfo &info() const = 0;
   virtual Kernel kernel() const = 0;
   /// Bytes for deserialize(), in this version of Weft on this kind of CPU.
   virtual std::vector<std::byte> serialize() const = 0;
};

/// Rows and columns of matrices (cooperativeMatrixFlexibleDimensionsMaxDimension).
constexpr uint32_t max_matrix_dimension = 1024;

/// What compile() supports on this machine.
const MatrixSupport &supported_matrices();
/// Why no program runs in this process: what the CPU lacks, or a shadow stack; none if one does.
std::optional<std::string> missing_instructions();
/// For VkPhysicalDeviceProperties::deviceName: the CPU's brand string and the matrix instructions
/// in use.
std::string host_description();
/// The CPU's brand string alone, whatever instructions are used.
std::string host_name();
/// Changes whenever code from serialize() would not be valid any more: build, CPU features, flags.
std::array<std::byte, 16> cache_uuid();

/// What is known of a dispatch before it runs.
struct DispatchFacts {
   std::span<const std::byte> push_constants = {}; ///< from the first on; others are not known
   std::array<uint32_t, 3> base_workgroup = {};
   std::array<uint32_t, 3> num_workgroups = {}; ///< zeros: not known
};

/// Compiles one compute entry point.  Thread-safe.  Whatever the input, it returns: malformed
/// SPIR-V, an unsupported capability, matrix type, shape or scope is an Error that says so.
/// With facts, the program is for dispatches of which they are true, and no others.
Result<std::shared_ptr<const Program>> compile(const ShaderSource &, const CompileOptions &,
                                               const DispatchFacts * = nullptr);

/// Names what compile() makes: everything that the program depends on.
CacheKey cache_key(const ShaderSource &, const CompileOptions &);

/// A program whose code may still be generated, by another thread; an Error if that fails (no memory).
using FutureProgram = std::shared_future<Result<std::shared_ptr<const Program>>>;

/// The programs of a shader.  Where large parts of it stand behind branches that a dispatch decides, it
/// has one for each way that dispatches go, of which code is generated when the first such comes; else one
/// for all.  Thread-safe.
class Programs {
public:
   virtual ~Programs() = default;
   /// All but stack_bytes and needs_tile_configuration.
   virtual const ProgramInfo &info() const = 0;
   /// The program for such a dispatch, which is there as long as this.
   virtual const FutureProgram &program_for(const DispatchFacts &) = 0;
   /// Bytes for deserialize_programs(), in this version of Weft on this kind of CPU; with what code there
   /// is, for which it waits.  None if there was no memory for it.
   virtual std::vector<std::byte> serialize() const = 0;
};

/// compile(), but for programs that the cache has, and for others it gets them; it may be null, else it must
/// outlive the programs.  Returns once nothing about the shader can be wrong any more; code is generated
/// by as many threads as there are CPUs.  With dumps or a PassControl, it compiles one program and
/// returns when that is complete.  Null if the shader would have had to be compiled and may not.
Result<std::shared_ptr<Programs>> compile_cached(DiskCache *, const ShaderSource &,
                                                 const CompileOptions &, bool may_compile = true);

/// The inverse of Programs::serialize(); an Error for bytes that are truncated, damaged or of
/// another version.  What code is still to be generated goes to the cache under the key.
Result<std::shared_ptr<Programs>> deserialize_programs(std::span<const std::byte>, DiskCache *,
                                                       const CacheKey &);

/// The inverse of Program::serialize(); an Error for bytes that are truncated, damaged or of
/// another version.  The features are those that it was compiled for.
Result<std::shared_ptr<const Program>> deserialize(std::span<const std::byte>,
                                                   const CpuFeatures & = host_features());

} // namespace weft::cpu
