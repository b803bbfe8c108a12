// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_object above a driver with this extension.

#pragma once

#include <vulkan/vulkan_core.h>

namespace weft::layer {

/// vkCreateShadersEXT. Lowers the shaders with cooperative matrices first. If one fails, the
/// shaders before it exist and the result is its error, as the extension requires.
VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice, uint32_t count,
                                              const VkShaderCreateInfoEXT *,
                                              const VkAllocationCallbacks *, VkShaderEXT *);
VKAPI_ATTR VkResult VKAPI_CALL get_shader_binary_data(VkDevice, VkShaderEXT, size_t *size,
                                                      void *data);
VKAPI_ATTR void VKAPI_CALL destroy_shader(VkDevice, VkShaderEXT, const VkAllocationCallbacks *);

} // namespace weft::layer
