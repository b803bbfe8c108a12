// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// A Vulkan layer that gives every device the vendor and device number of SwiftShader.
//
// Chromium gives pages a Vulkan device only if it can share images by opaque file descriptors, or
// if it is SwiftShader, for which Chromium copies images instead. lavapipe can share none; under
// SwiftShader's numbers it passes. Nothing else about the device changes.

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

namespace {

constexpr uint32_t SWIFTSHADER_VENDOR = 0x1ae0;
constexpr uint32_t SWIFTSHADER_DEVICE = 0xc0de;

struct Instance {
   VkInstance handle;
   PFN_vkGetInstanceProcAddr next;
};

std::mutex mutex;
std::unordered_map<void *, Instance> instances;

/// An instance and its physical devices begin with the same pointer, the loader's.
template <typename Handle>
Instance instance_of(Handle handle)
{
   std::lock_guard lock(mutex);
   return instances.at(*reinterpret_cast<void **>(handle));
}

template <typename Function>
Function next_function(const Instance &instance, const char *name)
{
   return reinterpret_cast<Function>(instance.next(instance.handle, name));
}

void disguise(VkPhysicalDeviceProperties &properties)
{
   properties.vendorID = SWIFTSHADER_VENDOR;
   properties.deviceID = SWIFTSHADER_DEVICE;
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device,
                                          VkPhysicalDeviceProperties *properties)
{
   next_function<PFN_vkGetPhysicalDeviceProperties>(
      instance_of(device), "vkGetPhysicalDeviceProperties")(device, properties);
   disguise(*properties);
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device,
                                           VkPhysicalDeviceProperties2 *properties)
{
   // Both names are of one function, but an instance may have only one of them.
   const Instance instance = instance_of(device);
   auto next =
      next_function<PFN_vkGetPhysicalDeviceProperties2>(instance, "vkGetPhysicalDeviceProperties2");
   if (!next)
      next = next_function<PFN_vkGetPhysicalDeviceProperties2>(instance,
                                                               "vkGetPhysicalDeviceProperties2KHR");
   next(device, properties);
   disguise(properties->properties);
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkInstance *handle)
{
   auto *link = static_cast<const VkLayerInstanceCreateInfo *>(info->pNext);
   while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
                   link->function != VK_LAYER_LINK_INFO))
      link = static_cast<const VkLayerInstanceCreateInfo *>(link->pNext);
   if (!link)
      return VK_ERROR_INITIALIZATION_FAILED;
   const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
   // The loader expects every layer to move the chain on for the next one.
   auto *mutable_link = const_cast<VkLayerInstanceCreateInfo *>(link);
   mutable_link->u.pLayerInfo = link->u.pLayerInfo->pNext;
   const VkResult result = reinterpret_cast<PFN_vkCreateInstance>(
      next(VK_NULL_HANDLE, "vkCreateInstance"))(info, allocator, handle);
   if (result == VK_SUCCESS) {
      std::lock_guard lock(mutex);
      instances[*reinterpret_cast<void **>(*handle)] = {*handle, next};
   }
   return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                            const VkAllocationCallbacks *allocator)
{
   if (!handle)
      return;
   const auto next = next_function<PFN_vkDestroyInstance>(instance_of(handle), "vkDestroyInstance");
   {
      std::lock_guard lock(mutex);
      instances.erase(*reinterpret_cast<void **>(handle));
   }
   next(handle, allocator);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle, const char *name)
{
   const struct {
      const char *name;
      PFN_vkVoidFunction function;
   } ours[] = {
      {"vkCreateInstance", reinterpret_cast<PFN_vkVoidFunction>(create_instance)},
      {"vkDestroyInstance", reinterpret_cast<PFN_vkVoidFunction>(destroy_instance)},
      {"vkGetInstanceProcAddr", reinterpret_cast<PFN_vkVoidFunction>(get_instance_proc_addr)},
      {"vkGetPhysicalDeviceProperties", reinterpret_cast<PFN_vkVoidFunction>(get_properties)},
      {"vkGetPhysicalDeviceProperties2", reinterpret_cast<PFN_vkVoidFunction>(get_properties2)},
      {"vkGetPhysicalDeviceProperties2KHR", reinterpret_cast<PFN_vkVoidFunction>(get_properties2)},
   };
   for (const auto &entry : ours) {
      if (!strcmp(entry.name, name))
         return entry.function;
   }
   return handle ? instance_of(handle).next(handle, name) : nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiated)
{
   negotiated->loaderLayerInterfaceVersion = 2;
   negotiated->pfnGetInstanceProcAddr = get_instance_proc_addr;
   // No device function is intercepted: the loader leaves this layer out of the devices' chains.
   negotiated->pfnGetDeviceProcAddr = nullptr;
   negotiated->pfnGetPhysicalDeviceProcAddr = nullptr;
   return VK_SUCCESS;
}
