// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/physical_device_queries.h"

#include "layer/binary_header.h"
#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/plan/driver_report.h"
#include "layer/struct_chain.h"
#include "vulkan_util/matrix_properties.h"
#include "vulkan_util/out_array.h"
#include "vulkan_util/text.h"

#include "vk_struct_type_cast.h"
#include "vk_util.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

namespace {

constexpr VkExtensionProperties settings_extension = {VK_EXT_LAYER_SETTINGS_EXTENSION_NAME,
                                                      VK_EXT_LAYER_SETTINGS_SPEC_VERSION};

bool is_ours(const char *layer)
{
   return layer && strcmp(layer, layer_name) == 0;
}

VkResult list_settings_extension(uint32_t *count, VkExtensionProperties *properties)
{
   OutArray out(properties, count);
   if (auto *p = out.append())
      *p = settings_extension;
   return out.status();
}

VkExtensionProperties properties_of(const ExtensionRow &row)
{
   VkExtensionProperties properties = {.specVersion = row.spec_version};
   copy_text(properties.extensionName, row.name);
   return properties;
}

/// The extensions of the manifest.
VkResult list_own_extensions(uint32_t *count, VkExtensionProperties *properties)
{
   OutArray out(properties, count);
   for (const ExtensionRow &row : extension_rows()) {
      if (auto *p = out.append())
         *p = properties_of(row);
   }
   return out.status();
}

VkResult list_layer(uint32_t *count, VkLayerProperties *properties)
{
   OutArray out(properties, count);
   if (auto *p = out.append()) {
      *p = {.specVersion = VK_HEADER_VERSION_COMPLETE, .implementationVersion = 1};
      copy_text(p->layerName, layer_name);
      copy_text(p->description, "Cooperative matrices on drivers without them");
   }
   return out.status();
}

/// The device for a query without a result; null if memory runs out.
const PhysicalDevice *find_physical_device(Instance &instance, VkPhysicalDevice physical)
{
   const PhysicalDevice *device = nullptr;
   const VkResult result = guarded([&] { return instance.get(physical, &device); });
   return result == VK_SUCCESS ? device : nullptr;
}

Support support_of(const PhysicalDevice *device, const ExtensionRow &row)
{
   return device ? device->support_of(row.extension) : Support::absent;
}

/// VUID-VkPipelineShaderStageCreateInfo-pNext-02756 for every shader, because each will run with
/// the profile's size.
void limit_workgroups(const PhysicalDevice &device, VkPhysicalDeviceLimits &limits)
{
   limits.maxComputeWorkGroupInvocations =
      std::min(limits.maxComputeWorkGroupInvocations, device.max_invocations_of_size());
}

/// The identity under which a device is presented; null: its own.
const Identity *identity_of(const Instance &instance, const PhysicalDevice *device)
{
   return device && device->lowers_any() ? instance.settings.identity : nullptr;
}

WeftMatrixSupport support_value(Support support)
{
   switch (support) {
   case Support::absent:
      break;
   case Support::native:
      return WEFT_MATRIX_SUPPORT_NATIVE;
   case Support::extended:
      return WEFT_MATRIX_SUPPORT_EXTENDED;
   case Support::lowered:
      return WEFT_MATRIX_SUPPORT_LOWERED;
   }
   return WEFT_MATRIX_SUPPORT_MISSING;
}

/// Answers a query by `body`, with the instance and the device.
template <typename Body>
VkResult answer(VkPhysicalDevice physical, const Body &body)
{
   return guarded([&] {
      Instance *instance = find_instance(physical);
      const PhysicalDevice *device;
      const VkResult result = instance->get(physical, &device);
      return result == VK_SUCCESS ? body(instance, device) : result;
   });
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
   return is_ours(layer) ? list_settings_extension(count, properties) : VK_ERROR_LAYER_NOT_PRESENT;
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
      return list_own_extensions(count, properties);
   return guarded([&] {
      Instance *instance = find_instance(physical);
      const auto next = instance->next_physical.EnumerateDeviceExtensionProperties;
      if (layer)
         return next(physical, layer, count, properties);
      const PhysicalDevice *device;
      const VkResult result = instance->get(physical, &device);
      if (result != VK_SUCCESS)
         return result;
      OutArray out(properties, count);
      const Identity *identity = identity_of(*instance, device);
      for (const VkExtensionProperties &extension : device->extensions) {
         const ExtensionRow *row = find_extension(extension.extensionName);
         if (row && !device->driver_has(row->extension) &&
             (!row->has_other_uses || device->lowers(row->extension) ||
              (identity && !identity->lists(row->name))))
            continue;
         if (auto *p = out.append())
            *p = extension;
      }
      for (const ExtensionRow &row : extension_rows()) {
         if (device->support_of(row.extension) != Support::lowered)
            continue;
         if (auto *p = out.append())
            *p = properties_of(row);
      }
      return out.status();
   });
}

VKAPI_ATTR void VKAPI_CALL get_physical_device_features2(VkPhysicalDevice physical,
                                                         VkPhysicalDeviceFeatures2 *features)
{
   Instance *instance = find_instance(physical);
   const auto &next = instance->next_physical;
   (next.GetPhysicalDeviceFeatures2 ? next.GetPhysicalDeviceFeatures2
                                    : next.GetPhysicalDeviceFeatures2KHR)(physical, features);
   const PhysicalDevice *device = find_physical_device(*instance, physical);
   vk_foreach_struct(s, features->pNext)
   {
      for (const ExtensionRow &row : extension_rows()) {
         const Support support = support_of(device, row);
         if (s->sType == row.features && support == Support::lowered)
            write_features(row, s, ~0u, row.lowered_features);
         else if (s->sType == row.features && support == Support::absent)
            write_features(row, s, row.matrix_features, 0);
      }
   }
}

VKAPI_ATTR void VKAPI_CALL get_physical_device_properties(VkPhysicalDevice physical,
                                                          VkPhysicalDeviceProperties *properties)
{
   Instance *instance = find_instance(physical);
   instance->next_physical.GetPhysicalDeviceProperties(physical, properties);
   const PhysicalDevice *device = find_physical_device(*instance, physical);
   if (const Identity *identity = identity_of(*instance, device))
      present_device(*identity, *properties);
   if (device && device->changes_subgroup_size())
      limit_workgroups(*device, properties->limits);
}

VKAPI_ATTR void VKAPI_CALL get_physical_device_properties2(VkPhysicalDevice physical,
                                                           VkPhysicalDeviceProperties2 *properties)
{
   Instance *instance = find_instance(physical);
   const auto &next = instance->next_physical;
   (next.GetPhysicalDeviceProperties2 ? next.GetPhysicalDeviceProperties2
                                      : next.GetPhysicalDeviceProperties2KHR)(physical, properties);
   const PhysicalDevice *device = find_physical_device(*instance, physical);
   vk_foreach_struct(s, properties->pNext)
   {
      for (const ExtensionRow &row : extension_rows()) {
         const Support support = support_of(device, row);
         if (!row.write_properties || s->sType != row.properties || support == Support::native ||
             support == Support::extended)
            continue;
         memset(s + 1, 0, row.property_words * sizeof(uint32_t));
         if (support == Support::lowered)
            row.write_properties(*device, s);
      }
   }
   auto *objects = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_SHADER_OBJECT_PROPERTIES_EXT);
   if (objects && device && device->lowers_any() &&
       device->has_extension(VK_EXT_SHADER_OBJECT_EXTENSION_NAME))
      add_binary_id(objects->shaderBinaryUUID);
   if (const Identity *identity = identity_of(*instance, device)) {
      // The driver leaves structs that it does not know unfilled.
      const bool has_core = properties->properties.apiVersion >= VK_API_VERSION_1_2;
      auto *driver = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_DRIVER_PROPERTIES);
      if (driver && (has_core || device->has_extension(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)))
         present_driver(*identity, *driver);
      auto *core = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
      if (core && has_core)
         present_driver(*identity, *core);
      present_device(*identity, properties->properties);
   }
   if (!device || !device->changes_subgroup_size())
      return;
   limit_workgroups(*device, properties->properties.limits);
   if (auto *subgroup = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_SUBGROUP_PROPERTIES)) {
      subgroup->subgroupSize = device->subgroup_size;
      subgroup->supportedStages &= device->sized_stages();
   }
   const auto present_sizes = [&](auto *p) {
      if (!p)
         return;
      p->minSubgroupSize = device->presented_sizes.min;
      p->maxSubgroupSize = device->presented_sizes.max;
   };
   present_sizes(
      vk_find_struct(properties->pNext, PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES));
   if (properties->properties.apiVersion >= VK_API_VERSION_1_3)
      present_sizes(vk_find_struct(properties->pNext, PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES));
   if (auto *core = vk_find_struct(properties->pNext, PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES)) {
      core->subgroupSize = device->subgroup_size;
      core->subgroupSupportedStages &= device->sized_stages();
   }
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
      if (!device->lowers_any())
         return next(physical, count, tools);

      // First the layer, then the tools below it.
      const uint32_t capacity = *count;
      uint32_t others = tools && capacity ? capacity - 1 : 0;
      if (tools && capacity) {
         void *chained = tools->pNext;
         *tools = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TOOL_PROPERTIES, .pNext = chained};
         copy_text(tools->name, "Weft");
         copy_text(tools->version, WEFT_VERSION);
         copy_text(tools->description, "Cooperative matrices on drivers without them");
         copy_text(tools->layer, layer_name);
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
   return answer(physical, [&](const Instance *instance, const PhysicalDevice *device) {
      constexpr Extension extension = Extension::khr_cooperative_matrix;
      if (device->support_of(extension) == Support::native)
         return instance->next_physical.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(
            physical, count, properties);

      // The driver's own first, because programs often take the first suitable one.
      OutArray out(properties, count);
      for (const VkCooperativeMatrixPropertiesKHR &native : device->native_properties) {
         if (auto *p = out.append()) {
            void *next = p->pNext;
            *p = native;
            p->pNext = next;
         }
      }
      if (device->lowers(extension)) {
         for (const MatrixOperation &operation : device->operations) {
            if (std::ranges::count(device->native_operations, operation))
               continue;
            if (auto *p = out.append())
               write_operation(operation, *p);
         }
      }
      return out.status();
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_properties_nv(
   VkPhysicalDevice physical, uint32_t *count, VkCooperativeMatrixPropertiesNV *properties)
{
   return answer(physical, [&](const Instance *instance, const PhysicalDevice *device) {
      constexpr Extension extension = Extension::nv_cooperative_matrix;
      if (device->support_of(extension) == Support::native)
         return instance->next_physical.GetPhysicalDeviceCooperativeMatrixPropertiesNV(
            physical, count, properties);

      OutArray out(properties, count);
      const auto append = [&](const MatrixOperation &operation) {
         if (auto *p = is_nv_operation(operation) ? out.append() : nullptr)
            write_operation(operation, *p);
      };
      if (device->lowers(extension))
         std::ranges::for_each(device->operations, append);
      return out.status();
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_properties2(
   VkPhysicalDevice physical, const VkPhysicalDeviceCooperativeMatrixInfo2EXT *info,
   uint32_t *count, VkCooperativeMatrixProperties2EXT *properties)
{
   return answer(physical, [&](const Instance *instance, const PhysicalDevice *device) {
      if (device->support_of(Extension::ext_cooperative_matrix_maintenance1) == Support::native)
         return instance->next_physical.GetPhysicalDeviceCooperativeMatrixProperties2EXT(
            physical, info, count, properties);

      OutArray out(properties, count);
      const bool saturating = info->flags & VK_COOPERATIVE_MATRIX_SATURATING_ACCUMULATION_BIT_EXT;
      const auto append = [&](const MatrixOperation &operation) {
         // With flexible dimensions any multiple is allowed.
         const bool multiples = std::ranges::any_of(
            device->flexible, [&](const FlexibleOperation &f) { return f.covers(operation); });
         if (info->scope != VK_SCOPE_SUBGROUP_KHR || operation.saturating != saturating ||
             !multiples)
            return;
         if (auto *p = out.append())
            write_multiples(operation, *p);
      };
      if (device->lowers(Extension::ext_cooperative_matrix_maintenance1))
         std::ranges::for_each(device->operations, append);
      return out.status();
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_cooperative_matrix_flexible_dimensions(
   VkPhysicalDevice physical, uint32_t *count,
   VkCooperativeMatrixFlexibleDimensionsPropertiesNV *properties)
{
   return answer(physical, [&](const Instance *instance, const PhysicalDevice *device) {
      if (device->support_of(Extension::nv_cooperative_matrix2) == Support::native)
         return instance->next_physical
            .GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV(physical, count,
                                                                              properties);
      OutArray out(properties, count);
      if (!device->lowers(Extension::nv_cooperative_matrix2))
         return out.status();
      for (const FlexibleOperation &flexible : device->flexible) {
         if (auto *p = out.append())
            write_flexible(flexible, *p);
      }
      return out.status();
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_matrix_extensions(
   VkPhysicalDevice physical, uint32_t *count, WeftMatrixExtension *extensions)
{
   return answer(physical, [&](const Instance *, const PhysicalDevice *device) {
      OutArray out(extensions, count);
      for (const ExtensionRow &row : extension_rows()) {
         WeftMatrixExtension *e = out.append();
         if (!e)
            continue;
         *e = {.support = support_value(device->support_of(row.extension))};
         copy_text(e->extensionName, row.name);
         if (e->support == WEFT_MATRIX_SUPPORT_MISSING)
            copy_text(e->reason, device->why_absent(row.extension).c_str());
      }
      return out.status();
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_physical_device_driver_report(VkPhysicalDevice physical,
                                                                 size_t *size, char *report)
{
   return answer(physical, [&](const Instance *, const PhysicalDevice *device) {
      const std::string text = write_driver_report(*device);
      const size_t wanted = text.size() + 1;
      if (!report) {
         *size = wanted;
         return VK_SUCCESS;
      }
      *size = std::min(*size, wanted);
      memcpy(report, text.c_str(), *size);
      return *size < wanted ? VK_INCOMPLETE : VK_SUCCESS;
   });
}

} // namespace weft::layer
