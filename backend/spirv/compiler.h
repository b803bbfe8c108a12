// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compiles SPIR-V with cooperative matrices to SPIR-V for a driver without them. The only
/// interface that the layer needs; it does not expose NIR.

#pragma once

#include "nir_passes/matrix_support.h"
#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"
#include "nir_passes/shader_source.h"
#include "shader_cache/disk_cache.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft::spirv {

/// The features that are enabled on the driver's device, so that a shader may use them.
/// vulkanMemoryModel is required and therefore not listed.
struct Driver {
   uint32_t spirv_version = 0x00010300; ///< the newest version that the driver accepts, as in a
                                        ///< module's header
   uint32_t subgroup_operations = 0;    ///< VkSubgroupFeatureFlags in compute shaders
   /// shaderSubgroupExtendedTypes: subgroup operations on 8, 16 and 64 bits, which matrices then
   /// use too.
   bool subgroup_extended_types = false;
   bool vulkan_memory_model_device_scope = false;
   bool int8 = false, int16 = false, int64 = false;
   bool float16 = false, float64 = false;
   bool storage_buffer_8bit = false, storage_buffer_16bit = false;
   bool buffer_device_address = false;
   /// shaderIntegerDotProduct: multiplies 8-bit integers four at a time. The driver's acceleration
   /// properties (integerDotProduct4x8BitPacked*Accelerated) do not matter: a driver without the
   /// instruction expands it to the code that this back end would emit.
   bool integer_dot_product = false;
   /// The device's arithmetic in f16 is at least as fast as in f32, so that lowered matrices of f16
   /// are summed in f16. CPUs convert every operand.
   bool float16_sums = false;
   /// Emit barriers within a workgroup other than control barriers of all of it, and availability
   /// of single accesses to shared memory (driver_quirks.cc).
   bool partial_barriers = true;
   /// A module may contain both the driver's own matrices and subgroup arithmetic
   /// (driver_quirks.cc).
   bool subgroup_arithmetic_with_matrices = true;
   /// Lowered matrices may be built from the driver's own (driver_quirks.cc).
   bool own_matrices = true;
   /// The shader runs with robustBufferAccess2. Buffer accesses are then not joined, because the
   /// driver may check the bounds of each access as a whole.
   bool robust_buffer_access_2 = false;
   /// shaderSignedZeroInfNanPreserveFloat16, 32 and 64.
   bool preserve_nan_16 = false, preserve_nan_32 = false, preserve_nan_64 = false;

   /// Whether buffers may contain arrays of components of `bits` bits.
   bool has_buffer_elements(unsigned bits) const
   {
      return bits == 8 ? storage_buffer_8bit : bits == 16 ? storage_buffer_16bit : true;
   }
};

/// A Vulkan 1.3 driver with every feature above.
Driver full_driver();

/// Whether compile() can leave an operation to the driver: all its component types belong to
/// VK_KHR_cooperative_matrix itself. compile() emits no types of later extensions, such as bfloat16
/// and float8, and a driver may use any number for its own types.
constexpr bool may_be_native(const MatrixOperation &op)
{
   const auto is_known = [](ComponentType type) { return type <= ComponentType::u64; };
   return is_known(op.a) && is_known(op.b) && is_known(op.c) && is_known(op.result);
}

struct CompileOptions {
   Driver driver;
   /// Invocations per subgroup, 4 to 128. The pipeline must run with this size, in full subgroups,
   /// unless subgroups are blocks.
   uint32_t subgroup_size;
   /// The matrix operations that the program may use.
   std::vector<MatrixOperation> operations;
   std::vector<FlexibleOperation> flexible = {};
   /// The operations that the driver has. compile() lowers an operation that may_be_native()
   /// excludes.
   std::vector<MatrixOperation> native_operations = {};
   /// cooperativeMatrixRobustBufferAccess is enabled.
   bool robust_access = false;
   /// Shared memory for matrices of workgroup scope, in addition to the shader's own.
   uint32_t staging_bytes = 0;
   /// The driver's subgroup size is unknown: the shader's subgroups are blocks of the workgroup's
   /// invocations (lower_subgroup_blocks.h), and no matrix is the driver's.
   bool subgroups_are_blocks = false;
   /// Shared memory per workgroup; blocks exchange values through it.
   uint32_t max_shared_bytes = UINT32_MAX;
   /// If set, called with the text after each phase: the name of each NIR pass, "nir" after all
   /// passes, "spirv" (disassembled).
   std::function<void(const char *phase, const std::string &text)> dump = {};
   PassControl *control = nullptr; ///< skips optional NIR passes; may be null
};

/// A compiled shader and its requirements.
struct CompiledModule {
   std::vector<uint32_t> words;
   uint32_t local_size[3] = {};
   /// Matrices are distributed over whole subgroups
   /// (VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT).
   bool needs_full_subgroups = false;
   /// Of an invocation's private variables, without matrices of the driver.
   uint32_t private_bytes = 0;
};

/// The operations that compile() can lower for this driver and subgroup size. The layer advertises
/// exactly these.
std::vector<MatrixOperation> supported_operations(const Driver &, uint32_t subgroup_size);

/// The maximum of rows and columns (cooperativeMatrixFlexibleDimensionsMaxDimension): the smallest
/// value that the specification allows. Larger matrices in registers would mostly spill.
constexpr uint32_t max_matrix_dimension = 256;

/// Whether a module declares one of these capabilities or extensions of SPIR-V. Reads no further
/// than the declarations; false for input that is not SPIR-V.
bool declares_any(std::span<const uint32_t> spirv, std::span<const uint32_t> capabilities,
                  std::span<const std::string> extensions = {});

/// The implementer of a shader's matrices above a driver with matrices. The cache may be null.
enum class MatrixOwner {
   driver,     ///< the driver's own operations suffice
   layer,      ///< the shader needs operations that compile() adds to the driver's
   layer_only, ///< the driver lacks a matrix's component type, in its use: it may crash
   unknown,    ///< other matrices, such as the workgroup's, or a module that validation rejects
};
/// The matrices of a driver.
struct NativeMatrices {
   std::vector<MatrixOperation> operations; ///< as it lists them
   /// Operations on component types of its extensions, which it may support without listing them.
   std::vector<MatrixOperation> of_extensions = {};
};
MatrixOwner matrix_owner(DiskCache *, const ShaderSource &, uint32_t subgroup_size,
                         const MatrixSupport &, const NativeMatrices &);

/// The declarations at a module's beginning.
struct Declarations {
   std::vector<uint32_t> capabilities;
   std::vector<std::string> extensions; ///< of SPIR-V
};

/// Reduces a module with matrices to the parts that an entry point without matrices reaches,
/// without the declarations in `dropped`. Nothing if the entry point reaches a matrix; an Error for
/// a module that cannot be parsed. The stage is a VkShaderStageFlagBits.
Result<std::optional<std::vector<uint32_t>>> without_matrices(std::span<const uint32_t> spirv,
                                                              uint32_t stage,
                                                              const std::string &entry_point,
                                                              const Declarations &dropped);

/// Lowers one compute entry point, which keeps its name; specialization constants are folded. The
/// module passes spirv-val for the driver's version. Thread-safe. Returns for any input: malformed
/// SPIR-V, an unsupported matrix type or a capability that the driver lacks is an Error with the
/// reason.
Result<CompiledModule> compile(const ShaderSource &, const CompileOptions &);

/// The cache key of compile()'s result: a hash of everything that the module depends on.
CacheKey cache_key(const ShaderSource &, const CompileOptions &);

/// compile() with a cache, which may be null: takes modules from it and stores new ones. With a
/// dump or a PassControl, the cache is bypassed. Nothing if the module is not cached and
/// `may_compile` is false.
Result<std::optional<CompiledModule>>
compile_cached(DiskCache *, const ShaderSource &, const CompileOptions &, bool may_compile = true);

} // namespace weft::spirv
