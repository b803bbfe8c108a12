// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/instance.h"

#include "backend/spirv/driver_quirks.h"
#include "layer/guard.h"
#include "layer/struct_chain.h"

namespace weft::layer {

namespace {

Undestroyed<Registry<const void *, Instance>> all_instances;
Registry<const void *, Instance> &instances = all_instances.value;

VkLayerInstanceCreateInfo *find_link(const VkInstanceCreateInfo *info)
{
   const void *next = info->pNext;
   while (auto *link = static_cast<const VkLayerInstanceCreateInfo *>(
             find_struct(next, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO))) {
      if (link->function == VK_LAYER_LINK_INFO)
         return const_cast<VkLayerInstanceCreateInfo *>(link);
      next = link->pNext;
   }
   return nullptr;
}

/// The reason for each absent extension, the name under which the device appears, and the
/// constructs that modules for its driver avoid.
std::vector<std::string> describe(const Settings &settings, const PhysicalDevice &device)
{
   std::vector<std::string> lines;
   for (const ExtensionRow &row : extension_rows()) {
      if (device.support_of(row.extension) == Support::absent)
         lines.push_back(std::string("no ") + row.name + " on '" + device.name +
                         "': " + device.why_absent(row.extension));
   }
   if (settings.identity && device.lowers_any())
      lines.push_back("'" + device.name + "' is presented as " + describe(*settings.identity));
   if (device.lowers_any()) {
      for (const spirv::DriverQuirk *q :
           spirv::find_driver_quirks(device.driver_id, device.driver_version))
         lines.push_back("for '" + device.name + "', shaders have " + q->what + ": " + q->why);
   }
   return lines;
}

} // namespace

Instance *find_instance(const void *dispatchable)
{
   return instances.find(dispatch_key(dispatchable));
}

VkResult Instance::get(VkPhysicalDevice physical, const PhysicalDevice **out)
{
   std::vector<std::string> findings;
   {
      std::lock_guard lock(mutex);
      std::unique_ptr<PhysicalDevice> &entry = physical_devices[physical];
      if (!entry) {
         auto device = std::make_unique<PhysicalDevice>();
         const VkResult result = inspect_physical_device(*this, physical, *device);
         if (result != VK_SUCCESS)
            return result;
         findings = describe(settings, *device);
         entry = std::move(device);
      }
      *out = entry.get();
   }
   for (const std::string &finding : findings)
      messengers.send(VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, VK_OBJECT_TYPE_PHYSICAL_DEVICE,
                      uint64_t(uintptr_t(physical)), finding);
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                               const VkAllocationCallbacks *allocator,
                                               VkInstance *out)
{
   return guarded([&] {
      VkLayerInstanceCreateInfo *link = find_link(info);
      if (!link || !link->u.pLayerInfo)
         return VK_ERROR_INITIALIZATION_FAILED;
      auto instance = std::make_unique<Instance>();
      instance->next_get_proc_addr = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
      instance->next_get_physical_device_proc_addr =
         link->u.pLayerInfo->pfnNextGetPhysicalDeviceProcAddr;
      // The loader's own memory: each layer advances it for the next one.
      link->u.pLayerInfo = link->u.pLayerInfo->pNext;

      std::vector<std::string> problems;
      instance->settings = read_settings(*info, problems);
      // These messages go to stderr with any setting: a user that sets variables reads stderr.
      Messengers &messengers = instance->messengers;
      messengers.add_chain(info->pNext);
      for (const std::string &problem : problems)
         messengers.send(VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT, VK_OBJECT_TYPE_UNKNOWN, 0,
                         "setting ignored: " + problem);
      messengers.remove(VK_NULL_HANDLE);
      messengers.log = instance->settings.log;
      if (info->pApplicationInfo && info->pApplicationInfo->apiVersion)
         instance->api_version = info->pApplicationInfo->apiVersion;

      const auto next_get = instance->next_get_proc_addr;
      const auto next_create = PFN_vkCreateInstance(next_get(VK_NULL_HANDLE, "vkCreateInstance"));
      if (!next_create)
         return VK_ERROR_INITIALIZATION_FAILED;
      const VkResult result = next_create(info, allocator, out);
      if (result != VK_SUCCESS)
         return result;
      OnFailure undo([&] {
         const auto next_destroy = PFN_vkDestroyInstance(next_get(*out, "vkDestroyInstance"));
         next_destroy(*out, allocator);
         *out = VK_NULL_HANDLE;
      });
      instance->handle = *out;
      vk_instance_dispatch_table_load(&instance->next, next_get, *out);
      vk_physical_device_dispatch_table_load(&instance->next_physical, next_get, *out);
      // Older loaders return a physical device's commands that they do not know only in this way.
      const auto find = [&]<typename F>(F &function, const char *name) {
         if (!function && instance->next_get_physical_device_proc_addr)
            function = F(instance->next_get_physical_device_proc_addr(*out, name));
      };
      auto &next = instance->next_physical;
      find(next.GetPhysicalDeviceCooperativeMatrixPropertiesKHR,
           "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
      find(next.GetPhysicalDeviceCooperativeMatrixPropertiesNV,
           "vkGetPhysicalDeviceCooperativeMatrixPropertiesNV");
      find(next.GetPhysicalDeviceCooperativeMatrixProperties2EXT,
           "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT");
      find(next.GetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV,
           "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
      instances.add(dispatch_key(*out), std::move(instance));
      undo.succeeded();
      return VK_SUCCESS;
   });
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
                                            const VkAllocationCallbacks *allocator)
{
   if (!handle)
      return;
   if (auto instance = instances.take(dispatch_key(handle)))
      instance->next.DestroyInstance(handle, allocator);
}

} // namespace weft::layer
