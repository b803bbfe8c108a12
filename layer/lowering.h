// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One shader of a module with matrices, for a device: what the driver gets in its place.

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
   /// What the pipeline asks of accesses to buffers, if it does not leave that to the device.
   const VkPipelineRobustnessCreateInfo *robustness = nullptr;
   bool may_compile = true;
   bool capture = false; ///< representations are wanted
};

/// Decides about one entry point, not about its module.  An entry point without matrices is not
/// lowered, whatever its stage.  Where the driver has matrices too, it gets every shader that needs
/// none of the layer's.  It also gets a shader that the compiler refuses and that it may know.
/// Returns VK_PIPELINE_COMPILE_REQUIRED for a shader that is not in the shader cache and must not
/// be compiled.  Every other failure has been reported when it returns.
VkResult lower_shader(const Device &, const ShaderRequest &, LoweredShader &out);

} // namespace weft::layer
