// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/physical_device_queries.h"

#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/struct_chain.h"

#include "vk_struct_type_cast.h"
#include "vk_util.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

namespace {

constexpr VkExtensionProperties matrix_extension = {VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME,
                                                    VK_KHR_COOPERATIVE_MATRIX_SPEC_VERSION};
constexpr VkExtensionProperties settings_extension = {VK_EXT_LAYER_SETTINGS_EXTENSION_NAME,
                                                      VK_EXT_LAYER_SETTINGS_SPEC_VERSION};

/// Of VK_KHR_shader_bfloat16 and VK_EXT_shader_float8, which our headers are too old for; both
/// have the feature that needs the driver's own matrices last.
struct NarrowFloatFeatures {
   VkStructureType sType;
   void *pNext;
   VkBool32 type, others[2];
};
constexpr auto bfloat16_features = VkStructureType(1000141000);
constexpr auto float8_features = VkStructureType(1000567000);

bool is_ours(const char *layer)
{
   return layer && strcmp(layer, layer_name) == 0;
}

VkResult list_one(const VkExtensionProperties &extension, uint32_t *count,
                  VkExtensionProperties *properties)
{
   VK_OUTARRAY_MAKE_TYPED(VkExtensionProperties, out, properties, count);
   vk_outarray_append_typed(VkExtensionProperties, &out, p) *p = extension;
   return vk_outarray_status(&out);
}

VkResult list_layer(uint32_t *count, VkLayerProperties *properties)
{
   VK_OUTARRAY_MAKE_TYPED(VkLayerProperties, out, properties, count);
   vk_outarray_append_typed(VkLayerProperties, &out, p)
   {
      *p = {.specVersion = VK_HEADER_VERSION_COMPLETE, .implementationVersion = 1};
      strcpy(p->layerName, layer_name);
      strcpy(p->description, "Cooperative matrices on drivers without them");
   }
   return vk_outarray_status(&out);
}

/// What is known of a device while a query without a result is answered; null without memory.
const PhysicalDevice *find_device(Instance &instance, VkPhysicalDevice physical)
{
   const PhysicalDevice *device = nullptr;
   const VkResult result = guarded([&] { return instance.get(physical, &device); });
   return result == VK_SUCCESS ? device : nullptr;
}

void hide_native_features(VkPhysicalDeviceFeatures2 *features)
{
   if (auto *nv2 = vk_find_struct(features, PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV)) {
      void *next = nv2->pNext;
      *nv2 = {.sType = nv2->sType, .pNext = next};
   }
   vk_foreach_struct(s, features)
   {
      auto *narrow = reinterpret_cast<NarrowFloatFeatures *>(s);
      if (s->sType == bfloat16_features)
         narrow->others[1] = VK_FALSE;
      else if (s->sType == float8_features)
         narrow->others[0] = VK_FALSE;
   }
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL enumerate_instance_layer_properties(uint32_t *count,
                                                                   VkLayerProperties *properties)
{
   return list_layer(count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_instance_extension_properties(
   const char *layer, uint32_t *count, VkExtensionProperties *properties)
{
   return is_ours(layer) ? list_one(settings_extension, count, properties)
                         : VK_ERROR_LAYER_NOT_PRESENT;
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_device_layer_properties(VkPhysicalDevice, uint32_t *count,
                                                                 VkLayerProperties *properties)
{
   return list_layer(count, properties);
}

VKAPI_ATTR VkResult VKAPI_CALL enumerate_device_extension_properties(
   VkPhysicalDevice physical, const char *layer, uint32_t *count, VkExtensionProperties *properties)
{
   if (is_ours(layer))
      return list_one(matrix_extension, count, properties);
   return guarded([&] {
      Instance *instance = find_instance(physical);
      const auto next = instance->next_physical.EnumerateDeviceExtensionProperties;
      if (layer)
         return next(physical, layer, count, properties);
      const PhysicalDevice *device;
      const VkResult result = instance->get(physical, &device);
      if (result != VK_SUCCESS)
         return result;
      if (device->support == Support::native || device->extends_native())
         return next(physical, layer, count, properties);

      VK_OUTARRAY_MAKE_TYPED(VkExtensionProperties, out, properties, count);
      for (const VkExtensionProperties &extension : device->extensions) {
         if (strcmp(extension.extensionName, matrix_extension.extensionName) == 0 ||
             device->hides(extension.extensionName))
            continue;
         vk_outarray_append_typed(VkExtensionProperties, &out, p) *p = extension;
      }
      if (device->support == Support::lowered)
         vk_outarray_append_typed(VkExtensionProperties, &out, p) *p = matrix_extension;
      return vk_outarray_status(&out);
   });
}

VKAPI_ATTR void VKAPI_CALL get_physical_device_features2(VkPhysicalDevice physical,
                                                         VkPhysicalDeviceFeatures2 *features)
{
   Instance *instance = find_instance(physical);
   const auto &next = instance->next_physical;
   (next.GetPhysicalDeviceFeatures2 ? next.GetPhysicalDeviceFeatures2
                                    : next.GetPhysicalDeviceFeatures2KHR)(physical, features);
   auto *matrices =
      vk_find_struct(features->pNext, PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
   const PhysicalDevice *device = find_device(*instance, physical);
   if (device && device->support == Support::native)
      return;
   if (matrices && !(device && device->extends_native())) {
      matrices->cooperativeMatrix = device && device->support == Support::lowered;
      matrices->cooperativeMatrixRobustBufferAccess = matrices->cooperativeMatrix;
   }
   if (device && device->native_hidden)
      hide_native_features(features);
}

VKAPI_ATTR void VKAPI_CALL get_physical_device_properties2(VkPhysicalDevice physical,
                                                           VkPhysicalDeviceProperties2 *properties)
{
   Instance *instance = find_instance(physical);
   const auto &next = instance->next_physical;
   (next.GetPhysicalDeviceProperties2 ? next.GetPhysicalDeviceProperties2
                                      : next.GetPhysicalDeviceProperties2KHR)(physical, properties);
   const PhysicalDevice *device = find_device(*instance, physical);
   if (device && device->support == Support::native)
      return;
   const bool lowered = device && device->support == Support::lowered;
   auto *matrices =
      vk_find_struct(properties->pNext, PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR);
   if (matrices && !(device && device->extends_native()))
      matrices->cooperativeMatrixSupportedStages =
         lowered ? VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT) : 0;
   if (!lowered)
      return;
   // The driver's own size unless a profile has another.
   if (auto *subgroup = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_SUBGROUP_PROPERTIES))
      subgroup->subgroupSize = device->subgroup_size;
   if (auto *core = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES))
      core->subgroupSize = device->subgroup_size;
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_tool_properties(
   VkPhysicalDevice physical, uint32_t *count, VkPhysicalDeviceToolProperties *tools)
{
   return guarded([&] {
      Instance *instance = find_instance(physical);
      const auto &table = instance->next_physical;
      const auto next = table.GetPhysicalDeviceToolProperties
                           ? table.GetPhysicalDeviceToolProperties
                           : table.GetPhysicalDeviceToolPropertiesEXT;
      const PhysicalDevice *device;
      VkResult result = instance->get(physical, &device);
      if (result != VK_SUCCESS)
         return result;
      if (device->support != Support::lowered)
         return next(physical, count, tools);

      // First the layer, then what the next ones say.
      const uint32_t capacity = *count;
      uint32_t others = tools && capacity ? capacity - 1 : 0;
      if (tools && capacity) {
         void *chained = tools->pNext;
         *tools = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES, .pNext = chained};
         strcpy(tools->name, "Weft");
         strcpy(tools->version, WEFT_VERSION);
         strcpy(tools->description, "Cooperative matrices on drivers without them");
         strcpy(tools->layer, layer_name);
         tools->purposes =
            VK_TOOL_PURPOSE_ADDITIONAL_FEATURES_BIT | VK_TOOL_PURPOSE_MODIFYING_FEATURES_BIT;
      }
      result = next(physical, &others, tools && capacity ? tools + 1 : nullptr);
      *count = tools ? std::min(capacity, others + 1) : others + 1;
      return result == VK_SUCCESS && tools && capacity == 0 ? VK_INCOMPLETE : result;
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_properties(
   VkPhysicalDevice physical, uint32_t *count, VkCooperativeMatrixPropertiesKHR *properties)
{
   return guarded([&] {
      Instance *instance = find_instance(physical);
      const PhysicalDevice *device;
      const VkResult result = instance->get(physical, &device);
      if (result != VK_SUCCESS)
         return result;
      if (device->support == Support::native)
         return instance->next_physical.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(
            physical, count, properties);

      // The driver's own first: programs often take the first that fits.
      VK_OUTARRAY_MAKE_TYPED(VkCooperativeMatrixPropertiesKHR, out, properties, count);
      for (const VkCooperativeMatrixPropertiesKHR &native : device->native_properties) {
         vk_outarray_append_typed(VkCooperativeMatrixPropertiesKHR, &out, p)
         {
            void *next = p->pNext;
            *p = native;
            p->pNext = next;
         }
      }
      if (device->support == Support::lowered) {
         for (const MatrixOperation &operation : device->operations) {
            if (std::ranges::count(device->native_operations, operation))
               continue;
            vk_outarray_append_typed(VkCooperativeMatrixPropertiesKHR, &out, p)
            {
               p->MSize = operation.m;
               p->NSize = operation.n;
               p->KSize = operation.k;
               p->AType = VkComponentTypeKHR(operation.a);
               p->BType = VkComponentTypeKHR(operation.b);
               p->CType = VkComponentTypeKHR(operation.c);
               p->ResultType = VkComponentTypeKHR(operation.result);
               p->saturatingAccumulation = operation.saturating;
               p->scope = VK_SCOPE_SUBGROUP_KHR;
            }
         }
      }
      return vk_outarray_status(&out);
   });
}

} // namespace weft::layer
