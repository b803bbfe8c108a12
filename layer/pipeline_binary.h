// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_pipeline_binary: keys and binaries are of the pipeline that the driver gets. Binaries of
/// lowered shaders have a header (binary_header.h).

#pragma once

#include <vulkan/vulkan_core.h>

namespace weft::layer {

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_key(VkDevice, const VkPipelineCreateInfoKHR *,
                                                VkPipelineBinaryKeyKHR *);
VKAPI_ATTR VkResult VKAPI_CALL create_pipeline_binaries(VkDevice,
                                                        const VkPipelineBinaryCreateInfoKHR *,
                                                        const VkAllocationCallbacks *,
                                                        VkPipelineBinaryHandlesInfoKHR *);
VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_binary_data(VkDevice,
                                                        const VkPipelineBinaryDataInfoKHR *,
                                                        VkPipelineBinaryKeyKHR *, size_t *size,
                                                        void *data);
VKAPI_ATTR void VKAPI_CALL destroy_pipeline_binary(VkDevice, VkPipelineBinaryKHR,
                                                   const VkAllocationCallbacks *);

} // namespace weft::layer
