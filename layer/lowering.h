// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One compute shader through the compiler, for a device.

#pragma once

#include "layer/device.h"

#include <vulkan/vulkan_core.h>

#include <chrono>
#include <span>

namespace weft::layer {

struct LoweredShader {
   std::vector<uint32_t> words;
   uint32_t local_size[3] = {};                 ///< zeros when the module does not tell
   std::vector<Representation> representations; ///< if they were asked for
   std::chrono::nanoseconds duration = {};
};

/// Subgroup size and flags with which a lowered shader has to run.
struct SubgroupDemand {
   bool require_size = false;
   bool require_full = false;
};

/// Whether the driver gets a shader as it is: it has all the shader's matrices, or the layer does
/// not have them either, as with matrices of the workgroup.
bool is_for_driver(const Device &, std::span<const uint32_t> words, const char *entry_point,
                   const VkSpecializationInfo *, uint32_t subgroup_size);

/// An error has been reported when it returns.
VkResult lower_shader(const Device &, std::span<const uint32_t> words, const char *entry_point,
                      const VkSpecializationInfo *, uint32_t subgroup_size, bool capture,
                      LoweredShader &out);

/// VUID-VkPipelineShaderStageCreateInfo-pNext-02756 and -02758: both have conditions that the
/// workgroup's size has to meet.
VkResult demand_subgroups(const Device &, const LoweredShader &, uint32_t subgroup_size,
                          SubgroupDemand &out);

} // namespace weft::layer
