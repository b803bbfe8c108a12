// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/event.h"

#include "icd/device.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

using namespace weft;

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateEvent(VkDevice _device, const VkEventCreateInfo *,
                                                const VkAllocationCallbacks *pAllocator,
                                                VkEvent *pEvent)
{
   VK_FROM_HANDLE(Device, device, _device);
   auto *event = static_cast<Event *>(
      vk_object_zalloc(&device->vk, pAllocator, sizeof(Event), VK_OBJECT_TYPE_EVENT));
   if (!event)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   *pEvent = Event_to_handle(event);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyEvent(VkDevice _device, VkEvent _event,
                                             const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Event, event, _event);
   if (event)
      vk_object_free(&device->vk, pAllocator, event);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetEventStatus(VkDevice _device, VkEvent _event)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Event, event, _event);
   if (vk_device_is_lost(&device->vk))
      return VK_ERROR_DEVICE_LOST;
   std::unique_lock lock(device->progress.mutex);
   if (!event->set)
      device->progress.pause_poll(lock, event->polls);
   return event->set ? VK_EVENT_SET : VK_EVENT_RESET;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_SetEvent(VkDevice _device, VkEvent _event)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Event, event, _event);
   device->progress.update([&] { event->set = true; });
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_ResetEvent(VkDevice _device, VkEvent _event)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Event, event, _event);
   device->progress.update([&] { event->set = false; });
   return VK_SUCCESS;
}
