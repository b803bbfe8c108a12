// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/instance.h"

#include "layer/guard.h"
#include "layer/struct_chain.h"

#include <cstdio>

namespace weft::layer {

namespace {

Registry<const void *, Instance> instances;

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

/// While an instance is being created, only the messengers in its chain listen.
void report_problems(const VkInstanceCreateInfo *info, const std::vector<std::string> &problems)
{
   for (const std::string &problem : problems) {
      const std::string message = "setting ignored: " + problem;
      fprintf(stderr, "weft: %s\n", message.c_str());
      const void *next = info->pNext;
      while (auto *messenger = static_cast<const VkDebugUtilsMessengerCreateInfoEXT *>(
                find_struct(next, VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT))) {
         next = messenger->pNext;
         if (!(messenger->messageSeverity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) ||
             !(messenger->messageType & VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT))
            continue;
         const VkDebugUtilsMessengerCallbackDataEXT data = {
            .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
            .pMessageIdName = "weft",
            .pMessage = message.c_str(),
         };
         messenger->pfnUserCallback(VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
                                    VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, &data,
                                    messenger->pUserData);
      }
   }
}

} // namespace

Instance *find_instance(const void *dispatchable)
{
   return instances.find(dispatch_key(dispatchable));
}

VkResult Instance::get(VkPhysicalDevice physical, const PhysicalDevice **out)
{
   std::lock_guard lock(mutex);
   std::unique_ptr<PhysicalDevice> &entry = physical_devices[physical];
   if (!entry) {
      auto device = std::make_unique<PhysicalDevice>();
      const VkResult result = inspect_physical_device(*this, physical, *device);
      if (result != VK_SUCCESS)
         return result;
      entry = std::move(device);
      for (const ExtensionRow &row : extension_rows()) {
         if (settings.log && entry->support_of(row.extension) == Support::absent)
            fprintf(stderr, "weft: no %s on '%s': %s\n", row.name, entry->name.c_str(),
                    entry->why_absent(row).c_str());
      }
      if (settings.log && settings.identity && entry->lowers())
         fprintf(stderr, "weft: '%s' is presented as %s\n", entry->name.c_str(),
                 describe(*settings.identity).c_str());
   }
   *out = entry.get();
   return VK_SUCCESS;
}

void report(const Instance &instance, VkDebugUtilsMessageSeverityFlagBitsEXT severity,
            VkObjectType type, uint64_t handle, const std::string &message)
{
   if (instance.settings.log)
      fprintf(stderr, "weft: %s\n", message.c_str());
   // Null unless the application has enabled VK_EXT_debug_utils; the loader tells all messengers.
   if (!instance.next.SubmitDebugUtilsMessageEXT)
      return;
   const VkDebugUtilsObjectNameInfoEXT object = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = type,
      .objectHandle = handle,
   };
   const VkDebugUtilsMessengerCallbackDataEXT data = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessageIdName = "weft",
      .pMessage = message.c_str(),
      .objectCount = 1,
      .pObjects = &object,
   };
   instance.next.SubmitDebugUtilsMessageEXT(instance.handle, severity,
                                            VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, &data);
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
      // The next layer's link stands first for it: the loader's own memory, made to be advanced.
      link->u.pLayerInfo = link->u.pLayerInfo->pNext;

      std::vector<std::string> problems;
      instance->settings = read_settings(*info, problems);
      report_problems(info, problems);
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
      // Older loaders give a physical device's commands that they do not know themselves only so.
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
