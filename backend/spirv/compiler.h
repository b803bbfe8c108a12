// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// From SPIR-V with cooperative matrices to SPIR-V that a driver without them takes.  The one
/// interface that the layer needs; NIR does not show through it.

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

/// What a shader may ask of the driver below: features that are enabled on its device.  One is
/// required and has no place here, vulkanMemoryModel.
struct Driver {
   uint32_t spirv_version = 0x00010300; ///< the newest it takes, as in a module's header
   uint32_t subgroup_operations = 0;    ///< VkSubgroupFeatureFlags in compute shaders
   /// shaderSubgroupExtendedTypes: subgroup operations on 8, 16 and 64 bits, which matrices then
   /// use too.
   bool subgroup_extended_types = false;
   bool vulkan_memory_model_device_scope = false;
   bool int8 = false, int16 = false, int64 = false;
   bool float16 = false, float64 = false;
   bool storage_buffer_8bit = false, storage_buffer_16bit = false;
   bool buffer_device_address = false;
   /// shaderIntegerDotProduct: 8-bit integers are then multiplied four at a time.  Whether the
   /// driver says that it has an instruction for it (integerDotProduct4x8BitPacked*Accelerated)
   /// does not matter: one without expands it to what would stand here else.
   bool integer_dot_product = false;
   /// Barriers within a workgroup that are not control barriers of all of it are worth having, and
   /// so is the availability of single accesses to shared memory (driver_quirks.cc).
   bool partial_barriers = true;
   /// A module may have the driver's own matrices and subgroup arithmetic (driver_quirks.cc).
   bool subgroup_arithmetic_with_matrices = true;
   /// The shader runs with robustBufferAccess2: accesses to buffers are not joined, as the driver
   /// may look at the bounds of each as a whole.
   bool robust_buffer_access_2 = false;
   /// shaderSignedZeroInfNanPreserveFloat16, 32 and 64.
   bool preserve_nan_16 = false, preserve_nan_32 = false, preserve_nan_64 = false;

   /// Whether buffers may hold arrays of components of so many bits.
   bool has_buffer_elements(unsigned bits) const
   {
      return bits == 8 ? storage_buffer_8bit : bits == 16 ? storage_buffer_16bit : true;
   }
};

/// A driver of Vulkan 1.3 with every feature above.
Driver full_driver();

/// Whether compile() can leave an operation to the driver: its components are types of
/// VK_KHR_cooperative_matrix itself.  It writes no types of later extensions, as bfloat16 and
/// float8 are, and any number may stand for a type of a driver's.
constexpr bool may_be_native(const MatrixOperation &op)
{
   const auto is_known = [](ComponentType type) { return type <= ComponentType::u64; };
   return is_known(op.a) && is_known(op.b) && is_known(op.c) && is_known(op.result);
}

struct CompileOptions {
   Driver driver;
   /// Invocations per subgroup, 4 to 128: the pipeline has to run with it, in full subgroups, unless
   /// they are blocks.
   uint32_t subgroup_size;
   /// What the program may use of matrices.
   std::vector<MatrixOperation> operations;
   std::vector<FlexibleOperation> flexible = {};
   /// What of it the driver does itself.  Operations that may_be_native() denies are lowered.
   std::vector<MatrixOperation> native_operations = {};
   /// cooperativeMatrixRobustBufferAccess is enabled.
   bool robust_access = false;
   /// Shared memory for matrices of workgroup scope, beside the shader's own.
   uint32_t staging_bytes = 0;
   /// The size of the driver's subgroups is not known: the shader's are blocks of the workgroup's
   /// invocations (lower_subgroup_blocks.h), and no matrix is the driver's.
   bool subgroups_are_blocks = false;
   /// What a workgroup may have of shared memory; blocks exchange values through it.
   uint32_t max_shared_bytes = UINT32_MAX;
   /// Called with the text after each phase when set: the name of each NIR pass, "nir" at the end
   /// of them, "spirv" (disassembled).
   std::function<void(const char *phase, const std::string &text)> dump = {};
   PassControl *control = nullptr; ///< of optional NIR passes, if wanted
};

/// What becomes of a shader, and how it has to run.
struct CompiledModule {
   std::vector<uint32_t> words;
   uint32_t local_size[3] = {};
   /// Matrices are spread over whole subgroups (VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_
   /// SUBGROUPS_BIT).
   bool needs_full_subgroups = false;
};

/// The operations that compile() can lower for this driver and subgroup size: what the layer
/// advertises, and nothing else.
std::vector<MatrixOperation> supported_operations(const Driver &, uint32_t subgroup_size);

/// Rows and columns of matrices (cooperativeMatrixFlexibleDimensionsMaxDimension): the least that
/// there may be.  In registers larger ones would be mostly memory.
constexpr uint32_t max_matrix_dimension = 256;

/// Whether a module declares one of these capabilities or extensions of SPIR-V.  Reads nothing else;
/// false for anything that is not SPIR-V.
bool declares_any(std::span<const uint32_t> spirv, std::span<const uint32_t> capabilities,
                  std::span<const std::string> extensions = {});

/// Whose a shader's matrices are, above a driver that has some itself.  The cache may be null.
enum class MatrixOwner {
   driver,  ///< its own operations are all that the shader needs
   layer,   ///< the shader needs operations that compile() adds to the driver's
   unknown, ///< other matrices, such as the workgroup's, or a module that is not understood
};
MatrixOwner matrix_owner(DiskCache *, const ShaderSource &, uint32_t subgroup_size,
                         const MatrixSupport &,
                         const std::vector<MatrixOperation> &native_operations);

/// What a module declares at its head.
struct Declarations {
   std::vector<uint32_t> capabilities;
   std::vector<std::string> extensions; ///< of SPIR-V
};

/// A module with matrices, for an entry point that may have none: the module cut down to what that
/// entry point reaches, without the declarations to be dropped.  Nothing if it reaches a matrix; an
/// Error for what is not understood.  The stage is a VkShaderStageFlagBits.
Result<std::optional<std::vector<uint32_t>>> without_matrices(std::span<const uint32_t> spirv,
                                                              uint32_t stage,
                                                              const std::string &entry_point,
                                                              const Declarations &dropped);

/// Lowers one compute entry point, which keeps its name; specialization constants are folded.  The
/// module passes spirv-val for the driver's version.  Thread-safe.  Whatever the input, it returns:
/// malformed SPIR-V, an unsupported matrix type, a capability that the driver lacks is an Error
/// that says so.
Result<CompiledModule> compile(const ShaderSource &, const CompileOptions &);

/// Names what compile() makes: everything that the module depends on.
CacheKey cache_key(const ShaderSource &, const CompileOptions &);

/// compile(), but for modules that the cache has, and for others it gets them; it may be null.
/// Whoever wants to see or steer the compilation gets one.  Nothing if it would have had to be
/// compiled and may not.
Result<std::optional<CompiledModule>>
compile_cached(DiskCache *, const ShaderSource &, const CompileOptions &, bool may_compile = true);

} // namespace weft::spirv
