// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One shader of a module with matrices, for a device: what the driver gets in its place.

#pragma once

#include "layer/device.h"

#include <vulkan/vulkan_core.h>

#include <chrono>
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

/// In which form the driver gets a shader.
enum class Form {
   original, ///< as it is: its matrices, if it has any, are the driver's
   cut_down, ///< it has no matrices: what it needs of the module, for a driver that knows none
   lowered,  ///< from the compiler
};

struct LoweredShader {
   Form form = Form::original;
   std::vector<uint32_t> words; ///< empty in the original form
   std::vector<Representation> representations;
   std::chrono::nanoseconds duration = {}; ///< of lowering

   /// How a lowered shader has to run.
   bool require_size = false;
   bool require_full_subgroups = false;
};

/// Decides about one entry point, not about its module.  An entry point without matrices is not
/// lowered, whatever its stage.  Where the driver has matrices too, it gets every shader that needs
/// none of the layer's.  It also gets a shader that the compiler refuses and that it may know.
/// Returns VK_PIPELINE_COMPILE_REQUIRED for a shader that is not in the shader cache and must not
/// be compiled.  Every other failure has been reported when it returns.
VkResult lower_shader(const Device &, const ShaderRequest &, LoweredShader &out);

} // namespace weft::layer
