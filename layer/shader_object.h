// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

namespace weft::layer {

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice, uint32_t count,
                                              const VkShaderCreateInfoEXT *,
                                              const VkAllocationCallbacks *, VkShaderEXT *);

} // namespace weft::layer
