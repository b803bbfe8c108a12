// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_device.h"

#include "icd/queue.h"
#include "icd/sync.h"

namespace weft {

struct PhysicalDevice;

struct Device {
   vk_device vk;
   Progress progress;
   Queue *queues[max_queues]; ///< by family; null where the application created none

   PhysicalDevice *physical() const { return reinterpret_cast<PhysicalDevice *>(vk.physical); }
};

/// Lets the queue's thread wait until done() is true (called with the mutex of `progress` held).
/// False if the device is lost or being destroyed, so that waiting may never end.
template <typename Done>
bool wait_in_queue(Queue *queue, Done done)
{
   Device *device = queue->device();
   bool satisfied = false;
   queue->activity().works = false;
   device->progress.wait([&] {
      if (vk_device_is_lost_no_report(&device->vk))
         return true;
      satisfied = done();
      return satisfied || device->progress.closing;
   });
   queue->activity().works = true;
   return satisfied;
}

/// The device's clock for timestamp queries: nanoseconds of CLOCK_MONOTONIC.
uint64_t device_timestamp();

VK_DEFINE_HANDLE_CASTS(Device, vk.base, VkDevice, VK_OBJECT_TYPE_DEVICE)

} // namespace weft
