// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/device.h"

#include "tests/vulkan/hooks.h"
#include "tests/vulkan/instance.h"
#include "tests/vulkan/objects.h"
#include "tests/vulkan/result.h"
#include "tests/vulkan/time_limits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::vulkan {

Preprocessor *preprocessor = nullptr;
std::function<std::vector<uint32_t>(std::span<const uint32_t>)> change_module;

Device::Device(bool robust, ShaderKind shader_kind) : shader_kind(shader_kind)
{
   try {
      create_instance();
      choose_physical();
      query();
      create_device(robust);
   } catch (...) {
      destroy();
      throw;
   }
}

Device::~Device()
{
   destroy();
}

void Device::destroy()
{
   if (device) {
      vkDestroyCommandPool(device, pool, nullptr);
      vkDestroyDevice(device, nullptr);
   }
   destroy_messenger(instance, messenger);
   if (instance)
      vkDestroyInstance(instance, nullptr);
}

void Device::create_instance()
{
   disable_shader_cache();
   const VkDebugUtilsMessengerCreateInfoEXT info = messenger_info(take_message, this);
   // In the chain it also receives the messages of the instance's creation and destruction.
   instance = vulkan::create_instance({.next = &info});
   messenger = create_messenger(instance, info);
}

void Device::choose_physical()
{
   uint32_t count = 0;
   check(vkEnumeratePhysicalDevices(instance, &count, nullptr), "vkEnumeratePhysicalDevices");
   std::vector<VkPhysicalDevice> all(count);
   check(vkEnumeratePhysicalDevices(instance, &count, all.data()), "vkEnumeratePhysicalDevices");
   const char *wanted = getenv("WEFT_TEST_DEVICE");
   for (VkPhysicalDevice candidate : all) {
      vkGetPhysicalDeviceProperties(candidate, &properties);
      if (wanted && !strstr(properties.deviceName, wanted))
         continue;
      uint32_t families = 0;
      vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, nullptr);
      std::vector<VkQueueFamilyProperties> family(families);
      vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, family.data());
      for (uint32_t i = 0; i < families; i++) {
         if (family[i].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            physical = candidate;
            queue_family = i;
            return;
         }
      }
   }
   throw VulkanError(VK_ERROR_INITIALIZATION_FAILED, "no such Vulkan device with a compute queue");
}

bool Device::has_extension(const char *name) const
{
   // The supported validation layers report each of these as unknown.
   if (getenv("WEFT_TEST_VALIDATION")) {
      for (const char *newer :
           {VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME, VK_EXT_SHADER_FLOAT8_EXTENSION_NAME,
            VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME,
            VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME,
            VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME}) {
         if (strcmp(name, newer) == 0)
            return false;
      }
   }
   return std::find(extensions.begin(), extensions.end(), name) != extensions.end();
}

void Device::run(VkCommandBuffer commands)
{
   // Drivers may compile at the first dispatch, as Weft's does. For the layer's matrices in
   // registers, lavapipe takes minutes on a slow CPU.
   const unsigned limit = is_weft ? hang_limit : hang_limit_elsewhere;
   const VkResult result = submit_and_wait(device, queue, commands, limit * 1'000'000'000ull);
   if (result == VK_TIMEOUT) {
      fprintf(stderr,
              "commands have not finished after %u s: what they use cannot be destroyed, so this "
              "ends here\n",
              limit);
      _Exit(EXIT_FAILURE);
   }
   vkFreeCommandBuffers(device, pool, 1, &commands);
   check(result, "submission");
}

void Device::create_device(bool robust)
{
   features.robustBufferAccess = robust && features.robustBufferAccess;
   matrix_features.cooperativeMatrixRobustBufferAccess =
      robust && matrix_features.cooperativeMatrixRobustBufferAccess;
   nv_matrix_features.cooperativeMatrixRobustBufferAccess =
      robust && nv_matrix_features.cooperativeMatrixRobustBufferAccess;
   const VkPhysicalDeviceFeatures2 features2 = {.sType =
                                                   VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                                .pNext = &features13,
                                                .features = features};
   std::vector<const char *> names;
   for (const char *name :
        {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
         VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
         VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME,
         VK_EXT_COOPERATIVE_MATRIX_MAINTENANCE_1_EXTENSION_NAME,
         VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME,
         VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME, VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME,
         VK_EXT_SHADER_FLOAT8_EXTENSION_NAME, VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME,
         VK_KHR_SHADER_QUAD_CONTROL_EXTENSION_NAME,
         VK_KHR_SHADER_MAXIMAL_RECONVERGENCE_EXTENSION_NAME, // the one before requires it
         VK_EXT_SHADER_REPLICATED_COMPOSITES_EXTENSION_NAME,
         VK_EXT_SHADER_IMAGE_ATOMIC_INT64_EXTENSION_NAME,
         VK_NV_SHADER_SUBGROUP_PARTITIONED_EXTENSION_NAME}) {
      if (has_extension(name))
         names.push_back(name);
   }
   VkPhysicalDeviceShaderSubgroupRotateFeaturesKHR rotate = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_ROTATE_FEATURES_KHR,
      .pNext = const_cast<VkPhysicalDeviceFeatures2 *>(&features2),
      .shaderSubgroupRotate = VK_TRUE,
      .shaderSubgroupRotateClustered = VK_FALSE,
   };
   const void *chain = &features2;
   if (has_extension(VK_KHR_SHADER_SUBGROUP_ROTATE_EXTENSION_NAME))
      chain = &rotate;
   const VkPhysicalDeviceShaderQuadControlFeaturesKHR quads = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_QUAD_CONTROL_FEATURES_KHR,
      .pNext = const_cast<void *>(chain),
      .shaderQuadControl = VK_TRUE,
   };
   if (has_extension(VK_KHR_SHADER_QUAD_CONTROL_EXTENSION_NAME))
      chain = &quads;
   const VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT replicated = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_REPLICATED_COMPOSITES_FEATURES_EXT,
      .pNext = const_cast<void *>(chain),
      .shaderReplicatedComposites = VK_TRUE,
   };
   if (has_extension(VK_EXT_SHADER_REPLICATED_COMPOSITES_EXTENSION_NAME))
      chain = &replicated;
   const VkPhysicalDeviceShaderObjectFeaturesEXT objects = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_FEATURES_EXT,
      .pNext = const_cast<void *>(chain),
      .shaderObject = VK_TRUE,
   };
   if (shader_kind == ShaderKind::object) {
      names.push_back(VK_EXT_SHADER_OBJECT_EXTENSION_NAME);
      chain = &objects;
   }
   device = vulkan::create_device(
      physical, {.extensions = names, .next = chain, .queue_family = queue_family});
   vkGetDeviceQueue(device, queue_family, 0, &queue);
   pool = create_command_pool(device, queue_family);
}

bool Device::can_require_subgroup_size() const
{
   return features13.subgroupSizeControl && features13.computeFullSubgroups &&
          (properties13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT);
}

std::vector<uint32_t> Device::subgroup_sizes() const
{
   if (!can_require_subgroup_size())
      return {properties11.subgroupSize};
   std::vector<uint32_t> sizes;
   for (uint32_t size = properties13.minSubgroupSize; size <= properties13.maxSubgroupSize;
        size *= 2)
      sizes.push_back(size);
   return sizes;
}

uint32_t Device::memory_type(uint32_t allowed, MemoryPlace place) const
{
   const VkMemoryPropertyFlags wanted =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
   const VkMemoryPropertyFlags best =
      wanted | (place == MemoryPlace::host ? VK_MEMORY_PROPERTY_HOST_CACHED_BIT
                                           : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
   for (VkMemoryPropertyFlags flags : {best, wanted}) {
      for (uint32_t i = 0; i < memory.memoryTypeCount; i++) {
         if ((allowed & 1u << i) && (memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
      }
   }
   throw VulkanError(VK_ERROR_OUT_OF_DEVICE_MEMORY, "no host-visible coherent memory type");
}

std::string Device::take_messages()
{
   std::string taken;
   taken.swap(messages);
   return taken;
}

} // namespace weft::vulkan
