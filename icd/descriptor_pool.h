// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "util/list.h"
#include "vk_object.h"

#include <cstdint>

namespace weft {

/// Counts the remaining capacity: sets, bytes of descriptors and inline data, dynamic buffers.
struct DescriptorPool {
   vk_object_base base;
   VkAllocationCallbacks alloc;
   list_head sets;
   uint32_t sets_left;
   uint64_t bytes_left;
   uint64_t dynamic_left;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(DescriptorPool, base, VkDescriptorPool,
                               VK_OBJECT_TYPE_DESCRIPTOR_POOL)

} // namespace weft
