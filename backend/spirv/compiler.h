// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// From SPIR-V with cooperative matrices to SPIR-V that a driver without them takes.  The one
/// interface that the layer needs; NIR does not show through it.

#pragma once

#include "nir_passes/result.h"
#include "nir_passes/shader_source.h"
#include "nir_passes/target.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::spirv {

/// What a shader may ask of the driver below: features that are enabled on its device.
struct Driver {
   uint32_t spirv_version = 0x00010300; ///< the newest it takes, as in a module's header
   uint32_t subgroup_operations = 0;    ///< VkSubgroupFeatureFlags in compute shaders
   /// shaderSubgroupExtendedTypes: subgroup operations on 8, 16 and 64 bits, which matrices then
   /// use too.
   bool subgroup_extended_types = false;
   bool vulkan_memory_model = false;
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
   /// so is the availability of single accesses to shared memory.  Lavapipe (seen in Mesa 22.3 to
   /// 26.1) makes barriers of both and suspends a subgroup at each of any kind, and if some end
   /// before they reach it, what others have still to do is lost.  Its workgroups run on one
   /// thread, their subgroups in lockstep, so that none of this says anything there.
   bool partial_barriers = true;
   /// shaderSignedZeroInfNanPreserveFloat16, 32 and 64.
   bool preserve_nan_16 = false, preserve_nan_32 = false, preserve_nan_64 = false;
};

/// A driver of Vulkan 1.3 with every feature above.
Driver full_driver();

struct CompileOptions {
   Driver driver;
   /// Invocations per subgroup, 4 to 128: the pipeline has to run with it, in full subgroups.
   uint32_t subgroup_size;
   /// What the program may use: Target::operations.
   std::vector<MatrixOperation> operations;
   /// What the driver does itself: Target::native_operations.
   std::vector<MatrixOperation> native_operations = {};
   /// cooperativeMatrixRobustBufferAccess is enabled.
   bool robust_access = false;
   /// Called with the text after each phase when set: the name of each NIR pass, "nir" at the end
   /// of them, "spirv" (disassembled).
   std::function<void(const char *phase, const std::string &text)> dump;
};

/// The operations that compile() can lower for this driver and subgroup size: what the layer
/// advertises, and nothing else.
std::vector<MatrixOperation> supported_operations(const Driver &, uint32_t subgroup_size);

/// Whether a module declares a capability that compile() lowers.  Reads the capabilities only;
/// false for anything that is not SPIR-V.
bool needs_lowering(std::span<const uint32_t> spirv);

/// The same of a shader above a driver with matrices: whether these operations are all that it
/// needs, and the driver's own are not.  False for what the front end does not understand, and for
/// matrices of other scopes than the subgroup's.
bool needs_lowering(const ShaderSource &, uint32_t subgroup_size,
                    const std::vector<MatrixOperation> &operations,
                    const std::vector<MatrixOperation> &native_operations);

/// Lowers one compute entry point, which keeps its name; specialization constants are folded.  The
/// module passes spirv-val for the driver's version.  Thread-safe.  Whatever the input, it returns:
/// malformed SPIR-V, an unsupported matrix type, a capability that the driver lacks is an Error
/// that says so.
Result<std::vector<uint32_t>> compile(const ShaderSource &, const CompileOptions &);

} // namespace weft::spirv
