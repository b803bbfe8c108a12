// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The decision how the driver gets a shader stage: the one for pipelines
/// (VkPipelineShaderStageCreateInfo) and for shader objects (VkShaderCreateInfoEXT).

#pragma once

#include "layer/lowered_shader.h"

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace weft::layer {

class StructChain;

/// The subgroup sizes of a device's stages.
struct SizeRules {
   uint32_t default_size = 0; ///< as the layer reports it
   /// Must require the default size, because the driver's own is another.
   VkShaderStageFlags sized_stages = 0;
   bool fixes_varying_sizes = false; ///< also if a stage allows the size to vary
};

/// The members of a stage's description that the decision depends on.
struct StageSizes {
   VkShaderStageFlagBits stage;
   bool may_vary;
   uint32_t required_size; ///< 0: the stage requires none
};

StageSizes sizes_of(const VkPipelineShaderStageCreateInfo &);
StageSizes sizes_of(const VkShaderCreateInfoEXT &);

/// The subgroup size for which a stage is lowered.
uint32_t subgroup_size_of(const SizeRules &, const StageSizes &);

/// Changes to a stage's description.
struct StagePlan {
   bool replaces_module = false;      ///< by the lowered shader's words
   bool drops_specialization = false; ///< which the lowered shader contains
   bool clears_varying = false;
   uint32_t add_required_size = 0; ///< 0: adds none
   bool requires_full_subgroups = false;

   bool operator==(const StagePlan &) const = default;
};

StagePlan plan_stage(const SizeRules &, const StageSizes &, const LoweredShader &);

/// Makes all changes but the module, which is an object of the driver.
void apply(const StagePlan &, VkPipelineShaderStageCreateInfo &, StructChain &);

/// `size` becomes a part of the description if the plan adds a required size.
void apply(const StagePlan &, const LoweredShader &, VkShaderCreateInfoEXT &,
           VkPipelineShaderStageRequiredSubgroupSizeCreateInfo &size);

} // namespace weft::layer
