// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The queries that the layer answers.

#pragma once

#include "layer/matrix_family.h"

#include <vulkan/vulkan_core.h>

namespace weft::layer {

VKAPI_ATTR VkResult VKAPI_CALL enumerate_instance_layer_properties(uint32_t *, VkLayerProperties *);
VKAPI_ATTR VkResult VKAPI_CALL enumerate_instance_extension_properties(const char *layer,
                                                                       uint32_t *,
                                                                       VkExtensionProperties *);
VKAPI_ATTR VkResult VKAPI_CALL enumerate_device_layer_properties(VkPhysicalDevice, uint32_t *,
                                                                 VkLayerProperties *);
VKAPI_ATTR VkResult VKAPI_CALL enumerate_device_extension_properties(VkPhysicalDevice,
                                                                     const char *layer, uint32_t *,
                                                                     VkExtensionProperties *);
VKAPI_ATTR void VKAPI_CALL get_physical_device_features2(VkPhysicalDevice,
                                                         VkPhysicalDeviceFeatures2 *);
VKAPI_ATTR void VKAPI_CALL get_physical_device_properties(VkPhysicalDevice,
                                                          VkPhysicalDeviceProperties *);
VKAPI_ATTR void VKAPI_CALL get_physical_device_properties2(VkPhysicalDevice,
                                                           VkPhysicalDeviceProperties2 *);
VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_properties(
   VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *);
VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_properties_nv(
   VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesNV *);
VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_properties2(
   VkPhysicalDevice, const VkPhysicalDeviceCooperativeMatrixInfo2EXT *, uint32_t *,
   VkCooperativeMatrixProperties2EXT *);
VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_flexible_dimensions(
   VkPhysicalDevice, uint32_t *, VkCooperativeMatrixFlexibleDimensionsPropertiesNV *);

// The layer's own commands (matrix_family.h).
VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_matrix_extensions(VkPhysicalDevice, uint32_t *,
                                                                     WeftMatrixExtension *);
VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_driver_report(VkPhysicalDevice, size_t *,
                                                                 char *);

/// Names the layer among the tools that change a device's capabilities.
VKAPI_ATTR VkResult VKAPI_CALL
get_physical_device_tool_properties(VkPhysicalDevice, uint32_t *, VkPhysicalDeviceToolProperties *);

} // namespace weft::layer
