// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The application's messengers of VK_EXT_debug_utils, and the layer's messages to them.
///
/// The layer calls their callbacks itself. vkSubmitDebugUtilsMessageEXT would reach them too, but
/// it ends in the loader, which locks a mutex. Loaders from before February 2026 hold this mutex
/// already during vkCreateInstance and vkCreateDevice, and it is not recursive.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace weft::layer {

/// Thread-safe. Callbacks run without a lock. Vulkan forbids callbacks to call Vulkan; the layer
/// tolerates such a callback.
class Messengers {
public:
   /// Whether messages are written to stderr as well.
   bool log = true;

   /// May throw std::bad_alloc, without an effect.
   void add(VkDebugUtilsMessengerEXT, const VkDebugUtilsMessengerCreateInfoEXT &);
   void remove(VkDebugUtilsMessengerEXT);

   /// The messengers in the chain of a VkInstanceCreateInfo, which receive messages while the
   /// instance is created. They have no handle: remove(VK_NULL_HANDLE) removes them.
   void add_chain(const void *chain);

   /// Calls every messenger for messages of this severity, once.
   void send(VkDebugUtilsMessageSeverityFlagBitsEXT, VkObjectType, uint64_t handle,
             const std::string &text) const;

private:
   struct Messenger {
      VkDebugUtilsMessengerEXT handle;
      VkDebugUtilsMessageSeverityFlagsEXT severities;
      PFN_vkDebugUtilsMessengerCallbackEXT callback;
      void *user;
   };

   mutable std::mutex mutex;
   uint64_t next_number = 0;
   std::map<uint64_t, Messenger> messengers; ///< numbered in the order in which they were added
};

VKAPI_ATTR VkResult VKAPI_CALL
create_debug_utils_messenger(VkInstance, const VkDebugUtilsMessengerCreateInfoEXT *,
                             const VkAllocationCallbacks *, VkDebugUtilsMessengerEXT *);
VKAPI_ATTR void VKAPI_CALL destroy_debug_utils_messenger(VkInstance, VkDebugUtilsMessengerEXT,
                                                         const VkAllocationCallbacks *);

} // namespace weft::layer
