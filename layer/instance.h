// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "layer/messengers.h"
#include "layer/physical_device.h"
#include "layer/registry.h"
#include "layer/settings.h"

#include "vk_dispatch_table.h"
#include <vulkan/vk_layer.h>

#include <mutex>
#include <string>

namespace weft::layer {

struct Instance {
   VkInstance handle = VK_NULL_HANDLE;
   PFN_vkGetInstanceProcAddr next_get_proc_addr = nullptr;
   PFN_GetPhysicalDeviceProcAddr next_get_physical_device_proc_addr = nullptr;
   vk_instance_dispatch_table next = {};
   vk_physical_device_dispatch_table next_physical = {};
   uint32_t api_version = VK_API_VERSION_1_0; ///< the application's
   Settings settings;
   Messengers messengers;

   /// The data about a physical device, read at the first call. An error is not kept.
   VkResult get(VkPhysicalDevice, const PhysicalDevice **);

private:
   std::mutex mutex;
   std::unordered_map<VkPhysicalDevice, std::unique_ptr<PhysicalDevice>> physical_devices;
};

/// The instance of an instance or of a physical device; null for any other object.
Instance *find_instance(const void *dispatchable);

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *,
                                               const VkAllocationCallbacks *, VkInstance *);
VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance, const VkAllocationCallbacks *);

} // namespace weft::layer
