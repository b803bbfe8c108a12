// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The application's messengers of VK_EXT_debug_utils, and what the layer says to them.
///
/// The layer calls their callbacks itself.  vkSubmitDebugUtilsMessageEXT would reach them too, but
/// it ends in the loader, which locks a mutex for it.  Loaders from before February 2026 already
/// hold that mutex, which is not recursive there, around vkCreateInstance and vkCreateDevice.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace weft::layer {

/// Thread-safe.  No lock is held while a callback runs.  Vulkan forbids callbacks to call Vulkan,
/// but one that does so anyway works as far as the layer is concerned.
class Messengers {
public:
   /// Whether messages are written to stderr as well.
   bool log = true;

   /// May throw std::bad_alloc, and has not changed anything then.
   void add(VkDebugUtilsMessengerEXT, const VkDebugUtilsMessengerCreateInfoEXT &);
   void remove(VkDebugUtilsMessengerEXT);

   /// The messengers in the chain of a VkInstanceCreateInfo, which listen while the instance is
   /// created.  They have no handle: remove(VK_NULL_HANDLE) ends that.
   void add_chain(const void *chain);

   /// Calls every messenger that wants messages of this severity, once.
   void tell(VkDebugUtilsMessageSeverityFlagBitsEXT, VkObjectType, uint64_t handle,
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
