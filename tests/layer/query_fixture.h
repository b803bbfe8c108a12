// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Queries of the physical device through the layer.

#pragma once

#include "tests/layer/fixture.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace weft::layer_test {

class Query : public LayerTest {
protected:
   VkPhysicalDeviceCooperativeMatrixFeaturesKHR
   matrix_features(const char *command = "vkGetPhysicalDeviceFeatures2")
   {
      VkPhysicalDeviceVulkan12Features behind = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
      };
      VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
         .pNext = &behind,
         .cooperativeMatrixRobustBufferAccess = 77,
      };
      VkPhysicalDeviceVulkan13Features before = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
         .pNext = &matrices,
      };
      VkPhysicalDeviceFeatures2 features = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
         .pNext = &before,
      };
      instance_function<PFN_vkGetPhysicalDeviceFeatures2>(command)(physical, &features);
      EXPECT_EQ(behind.vulkanMemoryModel, driver.features12.vulkanMemoryModel);
      EXPECT_EQ(before.subgroupSizeControl, driver.features13.subgroupSizeControl);
      return matrices;
   }

   VkShaderStageFlags supported_stages(uint32_t *subgroup_size = nullptr)
   {
      VkPhysicalDeviceVulkan11Properties core = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
      };
      VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrices = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
         .pNext = &core,
      };
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
         .pNext = &matrices,
      };
      instance_function<PFN_vkGetPhysicalDeviceProperties2>("vkGetPhysicalDeviceProperties2")(
         physical, &properties);
      if (subgroup_size)
         *subgroup_size = core.subgroupSize;
      return matrices.cooperativeMatrixSupportedStages;
   }
};

} // namespace weft::layer_test
