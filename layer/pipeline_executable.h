// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

namespace weft::layer {

/// Adds the layer's texts about a shader to the driver's.
VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_executable_internal_representations(
   VkDevice, const VkPipelineExecutableInfoKHR *, uint32_t *count,
   VkPipelineExecutableInternalRepresentationKHR *);

} // namespace weft::layer
