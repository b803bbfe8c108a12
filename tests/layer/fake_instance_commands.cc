// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fake_commands.h"

#include "tests/layer/allocation.h"
#include "tests/layer/fake_features.h"

#include <algorithm>
#include <cstring>

namespace weft::layer_test {
namespace {

Dispatchable the_physical_device = {&instance_table};

VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *, const VkAllocationCallbacks *,
                                    VkInstance *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateInstance"))
      return r;
   *out = VkInstance(new Dispatchable{&instance_table});
   driver->add("instance");
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   driver->remove(0, "instance");
   delete reinterpret_cast<Dispatchable *>(instance);
}

VkResult VKAPI_CALL enumerate_physical_devices(VkInstance, uint32_t *count, VkPhysicalDevice *out)
{
   WithoutInjection w;
   return give(std::vector{VkPhysicalDevice(&the_physical_device)}, count, out);
}

VkResult VKAPI_CALL enumerate_device_extension_properties(VkPhysicalDevice, const char *layer,
                                                          uint32_t *count,
                                                          VkExtensionProperties *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkEnumerateDeviceExtensionProperties"))
      return r;
   if (layer)
      return VK_ERROR_LAYER_NOT_PRESENT;
   std::vector<VkExtensionProperties> list;
   for (const std::string &name : driver->extensions) {
      strcpy(list.emplace_back().extensionName, name.c_str());
      list.back().specVersion = 77;
   }
   return give(list, count, out);
}

void VKAPI_CALL get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties *out)
{
   *out = {.apiVersion = driver->api_version,
           .deviceType = driver->type,
           .limits = {.maxComputeSharedMemorySize = 32768, .maxComputeWorkGroupInvocations = 1024}};
   strcpy(out->deviceName, "fake");
}

void VKAPI_CALL get_properties2(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *out)
{
   get_properties(physical, &out->properties);
   for (void *s = out->pNext; s; s = static_cast<VkBaseOutStructure *>(s)->pNext) {
      switch (static_cast<VkBaseOutStructure *>(s)->sType) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES: {
         auto *p = static_cast<VkPhysicalDeviceSubgroupProperties *>(s);
         p->subgroupSize = driver->subgroup_size;
         p->supportedStages = driver->subgroup_stages;
         p->supportedOperations = driver->subgroup_operations;
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES:
         static_cast<VkPhysicalDeviceVulkan11Properties *>(s)->subgroupSize = driver->subgroup_size;
         static_cast<VkPhysicalDeviceVulkan11Properties *>(s)->subgroupSupportedStages =
            driver->subgroup_stages;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES: {
         auto *p = static_cast<VkPhysicalDeviceSubgroupSizeControlProperties *>(s);
         p->minSubgroupSize = driver->min_subgroup_size;
         p->maxSubgroupSize = driver->max_subgroup_size;
         p->maxComputeWorkgroupSubgroups = driver->max_workgroup_subgroups;
         p->requiredSubgroupSizeStages = driver->required_size_stages;
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES:
         static_cast<VkPhysicalDeviceVulkan13Properties *>(s)->minSubgroupSize =
            driver->min_subgroup_size;
         static_cast<VkPhysicalDeviceVulkan13Properties *>(s)->maxSubgroupSize =
            driver->max_subgroup_size;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_OBJECT_PROPERTIES_EXT:
         std::ranges::fill(
            static_cast<VkPhysicalDeviceShaderObjectPropertiesEXT *>(s)->shaderBinaryUUID, 0x11);
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
         static_cast<VkPhysicalDeviceDriverProperties *>(s)->driverID = driver->id;
         break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES: {
         auto *p = static_cast<VkPhysicalDeviceFloatControlsProperties *>(s);
         p->shaderSignedZeroInfNanPreserveFloat32 = VK_TRUE;
         break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR:
         if (driver->native_matrices)
            static_cast<VkPhysicalDeviceCooperativeMatrixPropertiesKHR *>(s)
               ->cooperativeMatrixSupportedStages = VK_SHADER_STAGE_ALL;
         break;
      default:
         break;
      }
   }
}

void VKAPI_CALL get_features2(VkPhysicalDevice, VkPhysicalDeviceFeatures2 *out)
{
   const FeatureStructs structs = {driver->features, driver->features11, driver->features12,
                                   driver->features13, true};
   for (auto *s = reinterpret_cast<VkBaseOutStructure *>(out); s; s = s->pNext) {
      structs.visit(s);
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR &&
          driver->native_matrices) {
         auto *matrices = reinterpret_cast<VkPhysicalDeviceCooperativeMatrixFeaturesKHR *>(s);
         matrices->cooperativeMatrix = matrices->cooperativeMatrixRobustBufferAccess = VK_TRUE;
      }
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT)
         reinterpret_cast<VkPhysicalDeviceRobustness2FeaturesEXT *>(s)->robustBufferAccess2 =
            driver->robust_buffer_access_2;
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV &&
          driver->native_matrices)
         reinterpret_cast<VkPhysicalDeviceCooperativeMatrix2FeaturesNV *>(s)
            ->cooperativeMatrixReductions = VK_TRUE;
      if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR &&
          driver->native_matrices) {
         auto *bfloat16 = reinterpret_cast<VkPhysicalDeviceShaderBfloat16FeaturesKHR *>(s);
         bfloat16->shaderBFloat16Type = bfloat16->shaderBFloat16CooperativeMatrix = VK_TRUE;
      }
   }
}

void VKAPI_CALL get_queue_families(VkPhysicalDevice, uint32_t *count, VkQueueFamilyProperties *out)
{
   WithoutInjection w;
   give(std::vector{VkQueueFamilyProperties{.queueFlags = driver->queue_flags, .queueCount = 1}},
        count, out);
}

VkResult VKAPI_CALL get_native_matrices(VkPhysicalDevice, uint32_t *count,
                                        VkCooperativeMatrixPropertiesKHR *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"))
      return r;
   return give(driver->native_properties, count, out);
}

VkResult VKAPI_CALL get_flexible_matrices(VkPhysicalDevice, uint32_t *count,
                                          VkCooperativeMatrixFlexibleDimensionsPropertiesNV *out)
{
   WithoutInjection w;
   if (VkResult r =
          driver->enter("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"))
      return r;
   return give(driver->flexible_properties, count, out);
}

VkResult VKAPI_CALL get_tools(VkPhysicalDevice, uint32_t *count,
                              VkPhysicalDeviceToolProperties *out)
{
   WithoutInjection w;
   std::vector<VkPhysicalDeviceToolProperties> tools(2);
   strcpy(tools[0].name, "one");
   strcpy(tools[1].name, "two");
   return give(tools, count, out);
}

void VKAPI_CALL submit_message(VkInstance, VkDebugUtilsMessageSeverityFlagBitsEXT,
                               VkDebugUtilsMessageTypeFlagsEXT,
                               const VkDebugUtilsMessengerCallbackDataEXT *data)
{
   WithoutInjection w;
   std::lock_guard lock(driver->mutex);
   driver->submitted.emplace_back(data->pMessage);
}

VkResult VKAPI_CALL create_messenger(VkInstance, const VkDebugUtilsMessengerCreateInfoEXT *,
                                     const VkAllocationCallbacks *, VkDebugUtilsMessengerEXT *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateDebugUtilsMessengerEXT"))
      return r;
   *out = handle_of<VkDebugUtilsMessengerEXT>(driver->add("messenger"));
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_messenger(VkInstance, VkDebugUtilsMessengerEXT messenger,
                                  const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (messenger)
      driver->remove(number(messenger), "messenger");
}

const Command commands[] = {
   COMMAND("vkCreateInstance", create_instance),
   COMMAND("vkDestroyInstance", destroy_instance),
   COMMAND("vkEnumeratePhysicalDevices", enumerate_physical_devices),
   COMMAND("vkEnumerateDeviceExtensionProperties", enumerate_device_extension_properties),
   COMMAND("vkGetPhysicalDeviceProperties", get_properties),
   COMMAND("vkGetPhysicalDeviceProperties2", get_properties2),
   COMMAND("vkGetPhysicalDeviceFeatures2", get_features2),
   COMMAND("vkGetPhysicalDeviceFeatures2KHR", get_features2),
   COMMAND("vkGetPhysicalDeviceQueueFamilyProperties", get_queue_families),
   COMMAND("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", get_native_matrices),
   COMMAND("vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV",
           get_flexible_matrices),
   COMMAND("vkGetPhysicalDeviceToolProperties", get_tools),
   COMMAND("vkSubmitDebugUtilsMessageEXT", submit_message),
   COMMAND("vkCreateDebugUtilsMessengerEXT", create_messenger),
   COMMAND("vkDestroyDebugUtilsMessengerEXT", destroy_messenger),
};

} // namespace

std::span<const Command> instance_commands()
{
   return commands;
}

} // namespace weft::layer_test
