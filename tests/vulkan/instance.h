// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Instances and the messages of VK_EXT_debug_utils.

#pragma once

#include <vulkan/vulkan.h>

#include <span>
#include <string>
#include <vector>

namespace weft::vulkan {

inline constexpr const char *debug_utils[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};

struct InstanceOptions {
   std::span<const char *const> extensions = debug_utils;
   const void *next = nullptr;
   const VkAllocationCallbacks *allocator = nullptr;
   uint32_t api_version = VK_API_VERSION_1_3;
};

VkInstance create_instance(const InstanceOptions & = {});

/// Keeps the program from pipelines that an earlier process compiled, unless the environment
/// decides otherwise.
void disable_shader_cache();

template <typename Function>
Function instance_function(VkInstance instance, const char *name)
{
   return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

/// Warnings and errors of all types.
VkDebugUtilsMessengerCreateInfoEXT messenger_info(PFN_vkDebugUtilsMessengerCallbackEXT,
                                                  void *user_data);
VkDebugUtilsMessengerEXT create_messenger(VkInstance, const VkDebugUtilsMessengerCreateInfoEXT &);
/// The messenger may be null.
void destroy_messenger(VkInstance, VkDebugUtilsMessengerEXT);

std::vector<std::string> device_extensions(VkPhysicalDevice);

} // namespace weft::vulkan
