// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_pipeline.h"
#include "vk_pipeline_cache.h"

#include "icd/compute_shader.h"
#include "vulkan_util/text.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct Pipeline {
   vk_pipeline vk;
   ComputeShader shader;
   std::vector<Representation> *representations; ///< null unless the application requested them
};

VK_DEFINE_NONDISP_HANDLE_CASTS(Pipeline, vk.base, VkPipeline, VK_OBJECT_TYPE_PIPELINE)

/// Catches the standard library's exceptions (no memory). Sets the feedback's flags.
VkResult create_pipeline(Device *, vk_pipeline_cache *, const VkComputePipelineCreateInfo &,
                         const VkAllocationCallbacks *, VkPipeline *out,
                         VkPipelineCreationFeedback *);

// The runtime's hooks for VK_KHR_pipeline_executable_properties.
VkResult get_executable_properties(vk_device *, vk_pipeline *, uint32_t *count,
                                   VkPipelineExecutablePropertiesKHR *);
VkResult get_executable_statistics(vk_device *, vk_pipeline *, uint32_t executable, uint32_t *count,
                                   VkPipelineExecutableStatisticKHR *);
VkResult get_internal_representations(vk_device *, vk_pipeline *, uint32_t executable,
                                      uint32_t *count,
                                      VkPipelineExecutableInternalRepresentationKHR *);

} // namespace weft
