// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

namespace weft::layer {

/// Adds what the layer made of a shader to what the driver tells of it.
VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_executable_internal_representations(
   VkDevice, const VkPipelineExecutableInfoKHR *, uint32_t *count,
   VkPipelineExecutableInternalRepresentationKHR *);

} // namespace weft::layer
