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
   Queue *queue; ///< the one queue there can be, or null when none was asked for

   PhysicalDevice *physical() const { return reinterpret_cast<PhysicalDevice *>(vk.physical); }
};

VK_DEFINE_HANDLE_CASTS(Device, vk.base, VkDevice, VK_OBJECT_TYPE_DEVICE)

} // namespace weft
