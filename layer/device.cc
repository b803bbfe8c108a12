// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/device.h"

#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/struct_chain.h"

#include <cstring>

namespace weft::layer {

namespace {

Registry<const void *, Device> devices;

VkLayerDeviceCreateInfo *find_link(const VkDeviceCreateInfo *info)
{
   const void *next = info->pNext;
   while (auto *link = static_cast<const VkLayerDeviceCreateInfo *>(
             find_struct(next, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO))) {
      if (link->function == VK_LAYER_LINK_INFO)
         return const_cast<VkLayerDeviceCreateInfo *>(link);
      next = link->pNext;
   }
   return nullptr;
}

/// What the application asks for in a VkDeviceCreateInfo.
struct Request {
   bool extension = false, hidden_extension = false;
   bool feature = false, robust = false;

   Request(const VkDeviceCreateInfo &info, const PhysicalDevice &physical)
   {
      for (uint32_t i = 0; i < info.enabledExtensionCount; i++) {
         const char *name = info.ppEnabledExtensionNames[i];
         extension |= strcmp(name, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) == 0;
         hidden_extension |= physical.hides(name);
      }
      if (auto *matrices =
             static_cast<const VkPhysicalDeviceCooperativeMatrixFeaturesKHR *>(find_struct(
                info.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR))) {
         feature = matrices->cooperativeMatrix;
         robust = matrices->cooperativeMatrixRobustBufferAccess;
      }
   }
};

/// Why a request cannot be met, or VK_SUCCESS.
VkResult check_request(const Request &request, const PhysicalDevice &physical, std::string &why)
{
   if (request.hidden_extension) {
      why = "an extension of the driver's own matrices, which a setting hides";
      return VK_ERROR_EXTENSION_NOT_PRESENT;
   }
   const bool feature = request.feature || request.robust;
   if (physical.support == Support::absent && (request.extension || feature)) {
      why = "no cooperative matrices on '" + physical.name + "': " + physical.reason;
      return request.extension ? VK_ERROR_EXTENSION_NOT_PRESENT : VK_ERROR_FEATURE_NOT_PRESENT;
   }
   if (feature && !request.extension) {
      why = "features of cooperative matrices without " VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
      return VK_ERROR_FEATURE_NOT_PRESENT;
   }
   return VK_SUCCESS;
}

/// The application's VkDeviceCreateInfo without the layer's own extension, unless the driver has it
/// too, and with what lowered shaders need.
class LoweredCreateInfo {
public:
   LoweredCreateInfo(const VkDeviceCreateInfo &original, const PhysicalDevice &physical)
       : info(original), chain(original.pNext)
   {
      if (!physical.extends_native())
         chain.remove(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR);
      enabled = enable_features(physical.features, core_features(original), chain);
      list_extensions(original, physical);
      info.enabledExtensionCount = uint32_t(extensions.size());
      info.ppEnabledExtensionNames = extensions.data();
      info.pNext = chain.head();
   }

   VkDeviceCreateInfo info;
   FeatureSet enabled;

private:
   /// pEnabledFeatures as a copy, or null where the application uses VkPhysicalDeviceFeatures2.
   VkPhysicalDeviceFeatures *core_features(const VkDeviceCreateInfo &original)
   {
      if (find_struct(original.pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2))
         return nullptr;
      if (original.pEnabledFeatures)
         core = *original.pEnabledFeatures;
      info.pEnabledFeatures = &core;
      return &core;
   }

   void list_extensions(const VkDeviceCreateInfo &original, const PhysicalDevice &physical)
   {
      for (uint32_t i = 0; i < original.enabledExtensionCount; i++) {
         const char *name = original.ppEnabledExtensionNames[i];
         if (physical.extends_native() ||
             strcmp(name, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME) != 0)
            extensions.push_back(name);
      }
      for (const FeatureRow &row : feature_rows()) {
         if (enabled.has(row.feature) && row.added && physical.version < row.core_since)
            add_extension(row.extension);
      }
      if (physical.version < VK_API_VERSION_1_2 &&
          physical.has_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME))
         add_extension(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
   }

   void add_extension(const char *name)
   {
      for (const char *present : extensions) {
         if (strcmp(present, name) == 0)
            return;
      }
      extensions.push_back(name);
   }

   VkPhysicalDeviceFeatures core = {};
   StructChain chain;
   std::vector<const char *> extensions;
};

void prepare_lowering(Device &device, const PhysicalDevice &physical, const FeatureSet &enabled)
{
   device.driver = physical.driver(enabled);
   device.can_require_size = physical.can_require_size(enabled);
   device.full_subgroups = enabled.has(Feature::compute_full_subgroups);
   device.changes_subgroup_size = physical.subgroup_size != physical.subgroup.subgroupSize;
}

} // namespace

Device *find_device(const void *dispatchable)
{
   return devices.find(dispatch_key(dispatchable));
}

void report_error(const Device &device, const std::string &message)
{
   report_error(*device.instance, VK_OBJECT_TYPE_DEVICE, uint64_t(uintptr_t(device.handle)),
                message);
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice handle,
                                             const VkDeviceCreateInfo *info,
                                             const VkAllocationCallbacks *allocator, VkDevice *out)
{
   return guarded([&] {
      Instance *instance = find_instance(handle);
      VkLayerDeviceCreateInfo *link = find_link(info);
      if (!instance || !link || !link->u.pLayerInfo)
         return VK_ERROR_INITIALIZATION_FAILED;
      const auto next_get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
      auto device = std::make_unique<Device>();
      device->next_get_proc_addr = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
      // Made to be advanced: it is the loader's.
      link->u.pLayerInfo = link->u.pLayerInfo->pNext;
      const auto next_create =
         PFN_vkCreateDevice(next_get_instance(instance->handle, "vkCreateDevice"));
      if (!next_create)
         return VK_ERROR_INITIALIZATION_FAILED;

      VkResult result = instance->get(handle, &device->physical);
      if (result != VK_SUCCESS)
         return result;
      device->instance = instance;
      const PhysicalDevice &physical = *device->physical;
      std::unique_ptr<LoweredCreateInfo> lowered;
      if (physical.support != Support::native) {
         const Request request(*info, physical);
         std::string why;
         result = check_request(request, physical, why);
         if (result != VK_SUCCESS) {
            report_error(*instance, VK_OBJECT_TYPE_PHYSICAL_DEVICE, uint64_t(uintptr_t(handle)),
                         "vkCreateDevice: " + why);
            return result;
         }
         if (request.extension) {
            device->lowers = true;
            lowered = std::make_unique<LoweredCreateInfo>(*info, physical);
            prepare_lowering(*device, physical, lowered->enabled);
            device->robust_access = request.robust;
            if (!lowered->enabled.has(Feature::vulkan_memory_model)) {
               report_error(*instance, VK_OBJECT_TYPE_PHYSICAL_DEVICE, uint64_t(uintptr_t(handle)),
                            "vkCreateDevice: vulkanMemoryModel is off in a struct that follows one "
                            "unknown to the layer");
               return VK_ERROR_FEATURE_NOT_PRESENT;
            }
         }
      }

      result = next_create(handle, lowered ? &lowered->info : info, allocator, out);
      if (result != VK_SUCCESS)
         return result;
      device->handle = *out;
      vk_device_dispatch_table_load(&device->next, device->next_get_proc_addr, *out);
      OnFailure undo([&, destroy = device->next.DestroyDevice] {
         destroy(*out, allocator);
         *out = VK_NULL_HANDLE;
      });
      devices.add(dispatch_key(*out), std::move(device));
      undo.succeeded();
      return VK_SUCCESS;
   });
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks *allocator)
{
   if (!handle)
      return;
   if (auto device = devices.take(dispatch_key(handle)))
      device->next.DestroyDevice(handle, allocator);
}

} // namespace weft::layer
