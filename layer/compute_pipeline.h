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
VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_key(VkDevice, const VkPipelineCreateInfoKHR *,
                                                VkPipelineBinaryKeyKHR *);

/// Modules with matrices have compute shaders only: other pipelines of them are refused.
VKAPI_ATTR VkResult VKAPI_CALL create_graphics_pipelines(VkDevice, VkPipelineCache, uint32_t count,
                                                         const VkGraphicsPipelineCreateInfo *,
                                                         const VkAllocationCallbacks *,
                                                         VkPipeline *);
VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing_pipelines(
   VkDevice, VkDeferredOperationKHR, VkPipelineCache, uint32_t count,
   const VkRayTracingPipelineCreateInfoKHR *, const VkAllocationCallbacks *, VkPipeline *);

} // namespace weft::layer
