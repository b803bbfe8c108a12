// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/messengers.h"

#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/struct_chain.h"

#include <cstdio>

namespace weft::layer {

namespace {

/// All messages of the layer are of this type.
constexpr VkDebugUtilsMessageTypeFlagsEXT message_type =
   VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT;

} // namespace

void Messengers::add(VkDebugUtilsMessengerEXT handle,
                     const VkDebugUtilsMessengerCreateInfoEXT &info)
{
   if (!(info.messageType & message_type))
      return;
   std::lock_guard lock(mutex);
   messengers[next_number] = {handle, info.messageSeverity, info.pfnUserCallback, info.pUserData};
   next_number++;
}

void Messengers::remove(VkDebugUtilsMessengerEXT handle)
{
   std::lock_guard lock(mutex);
   std::erase_if(messengers, [&](const auto &entry) { return entry.second.handle == handle; });
}

void Messengers::add_chain(const void *chain)
{
   while (auto *info = static_cast<const VkDebugUtilsMessengerCreateInfoEXT *>(
             find_struct(chain, VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT))) {
      add(VK_NULL_HANDLE, *info);
      chain = info->pNext;
   }
}

void Messengers::send(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkObjectType type,
                      uint64_t handle, const std::string &text) const
{
   if (log)
      fprintf(stderr, "weft: %s\n", text.c_str());
   const VkDebugUtilsObjectNameInfoEXT object = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
      .objectType = type,
      .objectHandle = handle,
   };
   const VkDebugUtilsMessengerCallbackDataEXT data = {
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CALLBACK_DATA_EXT,
      .pMessageIdName = "weft",
      .pMessage = text.c_str(),
      .objectCount = handle ? 1u : 0u,
      .pObjects = handle ? &object : nullptr,
   };
   // A callback may add or remove messengers: neither new nor removed ones are called.
   std::unique_lock lock(mutex);
   const uint64_t end = next_number;
   for (auto it = messengers.begin(); it != messengers.end() && it->first < end;) {
      const auto [number, messenger] = *it;
      if (messenger.severities & severity) {
         lock.unlock();
         messenger.callback(severity, message_type, &data, messenger.user);
         lock.lock();
      }
      it = messengers.upper_bound(number);
   }
}

VKAPI_ATTR VkResult VKAPI_CALL
create_debug_utils_messenger(VkInstance handle, const VkDebugUtilsMessengerCreateInfoEXT *info,
                             const VkAllocationCallbacks *allocator, VkDebugUtilsMessengerEXT *out)
{
   Instance *instance = find_instance(handle);
   return guarded([&] {
      const VkResult result =
         instance->next.CreateDebugUtilsMessengerEXT(handle, info, allocator, out);
      if (result != VK_SUCCESS)
         return result;
      OnFailure undo([&] {
         instance->next.DestroyDebugUtilsMessengerEXT(handle, *out, allocator);
         *out = VK_NULL_HANDLE;
      });
      instance->messengers.add(*out, *info);
      undo.succeeded();
      return VK_SUCCESS;
   });
}

VKAPI_ATTR void VKAPI_CALL destroy_debug_utils_messenger(VkInstance handle,
                                                         VkDebugUtilsMessengerEXT messenger,
                                                         const VkAllocationCallbacks *allocator)
{
   Instance *instance = find_instance(handle);
   instance->messengers.remove(messenger);
   instance->next.DestroyDebugUtilsMessengerEXT(handle, messenger, allocator);
}

} // namespace weft::layer
