// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/instance.h"

#include "tests/vulkan/result.h"

#include <cstdlib>

namespace weft::vulkan {

VkInstance create_instance(const InstanceOptions &options)
{
   const VkApplicationInfo application = {
      .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
      .pApplicationName = "weft tests",
      .apiVersion = options.api_version,
   };
   const VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pNext = options.next,
      .pApplicationInfo = &application,
      .enabledExtensionCount = uint32_t(options.extensions.size()),
      .ppEnabledExtensionNames = options.extensions.data(),
   };
   VkInstance instance;
   check(vkCreateInstance(&info, options.allocator, &instance), "vkCreateInstance");
   return instance;
}

void disable_shader_cache()
{
   setenv("WEFT_SHADER_CACHE_DISABLE", "true", 0);
}

VkDebugUtilsMessengerCreateInfoEXT messenger_info(PFN_vkDebugUtilsMessengerCallbackEXT callback,
                                                  void *user_data)
{
   return {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
      .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                     VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
      .pfnUserCallback = callback,
      .pUserData = user_data,
   };
}

VkDebugUtilsMessengerEXT create_messenger(VkInstance instance,
                                          const VkDebugUtilsMessengerCreateInfoEXT &info)
{
   const char *const name = "vkCreateDebugUtilsMessengerEXT";
   const auto create = instance_function<PFN_vkCreateDebugUtilsMessengerEXT>(instance, name);
   VkDebugUtilsMessengerEXT messenger;
   check(create(instance, &info, nullptr, &messenger), name);
   return messenger;
}

void destroy_messenger(VkInstance instance, VkDebugUtilsMessengerEXT messenger)
{
   if (messenger)
      instance_function<PFN_vkDestroyDebugUtilsMessengerEXT>(
         instance, "vkDestroyDebugUtilsMessengerEXT")(instance, messenger, nullptr);
}

std::vector<std::string> device_extensions(VkPhysicalDevice physical)
{
   uint32_t count = 0;
   check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr),
         "device extensions");
   std::vector<VkExtensionProperties> properties(count);
   check(vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, properties.data()),
         "device extensions");
   std::vector<std::string> names;
   for (const VkExtensionProperties &p : properties)
      names.push_back(p.extensionName);
   return names;
}

} // namespace weft::vulkan
