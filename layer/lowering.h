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

/// The decision is made for an entry point, not for its module.  One without matrices, of whatever
/// stage, is not lowered.  Beside the driver's own matrices, a shader is the driver's if it needs
/// none of the layer's; and also, whatever the settings, if the compiler refuses it and it may be
/// the driver's.
/// VK_PIPELINE_COMPILE_REQUIRED where it would have to compile, not being in the shader cache, and may
/// not; any other failure has
/// been reported when it returns.
VkResult lower_shader(const Device &, const ShaderRequest &, LoweredShader &out);

} // namespace weft::layer
