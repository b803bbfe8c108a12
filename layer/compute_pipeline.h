// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

namespace weft::layer {

VKAPI_ATTR VkResult VKAPI_CALL create_compute_pipelines(VkDevice, VkPipelineCache, uint32_t count,
                                                        const VkComputePipelineCreateInfo *,
                                                        const VkAllocationCallbacks *,
                                                        VkPipeline *);
VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice, VkPipeline, const VkAllocationCallbacks *);
/// VK_NV_device_generated_commands_compute: answers for the pipeline that the driver will get.
VKAPI_ATTR void VKAPI_CALL get_pipeline_indirect_memory_requirements(
   VkDevice, const VkComputePipelineCreateInfo *, VkMemoryRequirements2 *);

} // namespace weft::layer
