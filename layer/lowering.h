// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The shader that the driver gets in place of a shader of a module with matrices.

#pragma once

#include "layer/device.h"
#include "layer/lowered_shader.h"

#include <vulkan/vulkan_core.h>

#include <span>

namespace weft::layer {

struct ShaderRequest {
   std::span<const uint32_t> words;
   VkShaderStageFlagBits stage;
   const char *entry_point;
   const VkSpecializationInfo *specialization;
   uint32_t subgroup_size;
   /// The pipeline's robustness; null: the device's.
   const VkPipelineRobustnessCreateInfo *robustness = nullptr;
   bool may_compile = true;
   bool capture = false; ///< keeps the representations
};

/// Decides about one entry point, not about its module. An entry point without matrices is not
/// lowered, in any stage. A driver with matrices gets every shader that its own matrices suffice
/// for. It also gets a shader that the compiler refuses, because the driver may know the shader's
/// instructions. Returns VK_PIPELINE_COMPILE_REQUIRED for a shader that is not in the shader cache
/// and must not be compiled. The function reports all other failures itself.
VkResult lower_shader(const Device &, const ShaderRequest &, LoweredShader &out);

/// Reports that the driver did not create the object of a shader, if the shader is lowered. Drivers
/// limit private memory without a number in Vulkan: NVIDIA's compiler has less than 16 KiB for an
/// invocation.
void report_drivers_failure(const Device &, const char *entry_point, const LoweredShader &,
                            VkResult);

} // namespace weft::layer
