// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/device.h"
#include "tests/vulkan/hooks.h"
#include "tests/vulkan/instance.h"
#include "tests/vulkan/result.h"

#include <cstring>

namespace weft::vulkan {
namespace {

/// The list that a command returns in two calls.
template <typename Structure, typename Get>
std::vector<Structure> list_of(const char *what, VkStructureType type, Get get)
{
   uint32_t count = 0;
   check(get(&count, static_cast<Structure *>(nullptr)), what);
   std::vector<Structure> list(count, {.sType = type});
   check(get(&count, list.data()), what);
   return list;
}

/// The same for an extension's command about a physical device.
template <typename Structure, typename Function>
std::vector<Structure> physical_list(const Device &device, const char *name, VkStructureType type)
{
   const auto function = instance_function<Function>(device.instance, name);
   if (!function)
      throw VulkanError(VK_ERROR_EXTENSION_NOT_PRESENT, name);
   return list_of<Structure>(name, type, [&](uint32_t *count, Structure *list) {
      return function(device.physical, count, list);
   });
}

} // namespace

void Device::query()
{
   extensions = device_extensions(physical);
   vkGetPhysicalDeviceMemoryProperties(physical, &memory);

   properties11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
   properties12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                   .pNext = &properties11};
   properties13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES,
                   .pNext = &properties12};
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &properties13};
   vkGetPhysicalDeviceProperties2(physical, &properties2);
   properties = properties2.properties;

   // A profile changes the identity, not the driver's information.
   is_weft = strncmp(properties12.driverInfo, "Weft ", 5) == 0;
   for (const VkPhysicalDeviceToolProperties &tool : list_of<VkPhysicalDeviceToolProperties>(
           "tools", VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES,
           [&](uint32_t *count, auto *list) {
              return vkGetPhysicalDeviceToolProperties(physical, count, list);
           }))
      has_weft_layer |= strstr(tool.layer, "VK_LAYER_WEFT") != nullptr;

   matrix_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
   nv_matrix_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};
   bfloat16_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR};
   float8_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT};
   conversion_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_CONVERSION_FEATURES_QCOM};
   layouts_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_LAYOUTS_FEATURES_ARM};
   matrix2_features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV};
   decode_vector_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_DECODE_VECTOR_FEATURES_NV};
   maintenance1_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_MAINTENANCE_1_FEATURES_EXT};
   image_int64_features = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_IMAGE_ATOMIC_INT64_FEATURES_EXT};
   void *chain = nullptr;
   const auto add = [&](const char *extension, auto &structure) {
      if (!has_extension(extension))
         return;
      structure.pNext = chain;
      chain = &structure;
   };
   add(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, matrix_features);
   add(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME, nv_matrix_features);
   add(VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, bfloat16_features);
   add(VK_EXT_SHADER_FLOAT8_EXTENSION_NAME, float8_features);
   add(VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME, conversion_features);
   add(VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME, layouts_features);
   add(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME, matrix2_features);
   add(VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME, decode_vector_features);
   add(VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME, maintenance1_features);
   add(VK_EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME, image_int64_features);
   features11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = chain};
   features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                 .pNext = &features11};
   features13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                 .pNext = &features12};
   VkPhysicalDeviceFeatures2 features2 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                          .pNext = &features13};
   vkGetPhysicalDeviceFeatures2(physical, &features2);
   features = features2.features;

   if (has_extension(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME))
      matrix_properties = physical_list<VkCooperativeMatrixPropertiesKHR,
                                        PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
         *this, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
         VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
   if (has_extension(VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME))
      nv_matrix_properties = physical_list<VkCooperativeMatrixPropertiesNV,
                                           PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesNV>(
         *this, "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV",
         VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_NV);
   if (matrix2_features.cooperativeMatrixFlexibleDimensions)
      query_flexible_dimensions();
   if (preprocessor)
      preprocessor->set_matrix_properties(*this);
}

void Device::query_flexible_dimensions()
{
   matrix2_properties = {.sType =
                            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV};
   VkPhysicalDeviceProperties2 properties2 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &matrix2_properties};
   vkGetPhysicalDeviceProperties2(physical, &properties2);
   flexible_properties =
      physical_list<VkCooperativeMatrixFlexibleDimensionsPropertiesNV,
                    PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV>(
         *this, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
         VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV);
}

} // namespace weft::vulkan
