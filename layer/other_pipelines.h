// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Pipelines whose shaders have no matrices. An entry point with matrices is refused, unless the
/// driver has matrices itself.

#pragma once

#include <vulkan/vulkan_core.h>
// Must come after vulkan_core.h.
#include <vulkan/vulkan_beta.h>

namespace weft::layer {

VKAPI_ATTR VkResult VKAPI_CALL create_graphics_pipelines(VkDevice, VkPipelineCache, uint32_t count,
                                                         const VkGraphicsPipelineCreateInfo *,
                                                         const VkAllocationCallbacks *,
                                                         VkPipeline *);
VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing_pipelines(
   VkDevice, VkDeferredOperationKHR, VkPipelineCache, uint32_t count,
   const VkRayTracingPipelineCreateInfoKHR *, const VkAllocationCallbacks *, VkPipeline *);
VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing_pipelines_nv(
   VkDevice, VkPipelineCache, uint32_t count, const VkRayTracingPipelineCreateInfoNV *,
   const VkAllocationCallbacks *, VkPipeline *);
VKAPI_ATTR VkResult VKAPI_CALL create_execution_graph_pipelines(
   VkDevice, VkPipelineCache, uint32_t count, const VkExecutionGraphPipelineCreateInfoAMDX *,
   const VkAllocationCallbacks *, VkPipeline *);

} // namespace weft::layer
