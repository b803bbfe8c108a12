// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/device.h"

#include "backend/cpu/prepare.h"
#include "icd/command_buffer.h"
#include "icd/log.h"
#include "icd/physical_device.h"
#include "icd/settings.h"
#include "shader_cache/disk_cache.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_common_entrypoints.h"
#include "vk_log.h"

#include <chrono>
#include <ctime>
#include <new>

using namespace weft;

namespace {

VkResult get_device_timestamp(vk_device *, uint64_t *timestamp)
{
   *timestamp = device_timestamp();
   return VK_SUCCESS;
}

void destroy_queues(Device *device)
{
   for (Queue *queue : device->queues) {
      if (queue)
         destroy_queue(queue);
   }
}

} // namespace

uint64_t weft::device_timestamp()
{
   timespec now;
   clock_gettime(CLOCK_MONOTONIC, &now);
   return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateDevice(VkPhysicalDevice physicalDevice,
                                                 const VkDeviceCreateInfo *pCreateInfo,
                                                 const VkAllocationCallbacks *pAllocator,
                                                 VkDevice *pDevice)
{
   VK_FROM_HANDLE(PhysicalDevice, pdev, physicalDevice);
   const VkAllocationCallbacks *instance_alloc = &pdev->vk.instance->alloc;
   cpu::prepare_for_device(shader_cache());

   void *memory =
      vk_zalloc2(instance_alloc, pAllocator, sizeof(Device), 8, VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
   if (!memory)
      return vk_error(pdev, VK_ERROR_OUT_OF_HOST_MEMORY);
   auto *device = new (memory) Device();

   vk_device_dispatch_table dispatch_table;
   vk_device_dispatch_table_from_entrypoints(&dispatch_table, &weft_device_entrypoints, true);

   VkResult result =
      vk_device_init(&device->vk, &pdev->vk, &dispatch_table, pCreateInfo, pAllocator);
   if (result != VK_SUCCESS) {
      device->~Device();
      vk_free2(instance_alloc, pAllocator, device);
      return result;
   }
   device->vk.command_buffer_ops = &command_buffer_ops;
   device->vk.get_timestamp = get_device_timestamp;
   device->progress.longest_pause = std::chrono::microseconds(settings().poll_pause_us);

   for (uint32_t i = 0; i < pCreateInfo->queueCreateInfoCount; i++) {
      const VkDeviceQueueCreateInfo &info = pCreateInfo->pQueueCreateInfos[i];
      result = create_queue(device, &info, &device->queues[info.queueFamilyIndex]);
      if (result != VK_SUCCESS) {
         destroy_queues(device);
         vk_device_finish(&device->vk);
         device->~Device();
         vk_free2(instance_alloc, pAllocator, device);
         return result;
      }
   }

   if (settings().graphics_queue)
      report_note(&pdev->vk.base, "WEFT_QUEUE=graphics: a queue family claims graphics, but "
                                  "graphics pipelines are refused");
   *pDevice = Device_to_handle(device);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyDevice(VkDevice _device,
                                              const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   if (!device)
      return;
   destroy_queues(device);
   const VkAllocationCallbacks *instance_alloc = &device->vk.physical->instance->alloc;
   vk_device_finish(&device->vk);
   device->~Device();
   vk_free2(instance_alloc, pAllocator, device);
}
