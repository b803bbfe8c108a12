// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "icd/device_pages.h"

#include "vk_device_memory.h"
#include "vk_util.h"

#include <cstdint>
#include <sys/types.h>

namespace weft {

struct DeviceMemory {
   vk_device_memory vk;
   uint8_t *map;
   uint64_t mapped_size; ///< charged to the heap: whole pages
   int fd;               ///< the memory file of shareable memory, else -1
   dev_t device;         ///< of that file
   ino_t inode;          ///< of that file
   bool borrowed;        ///< imported host memory: neither unmapped nor charged
   bool has_own_mapping; ///< its address can be captured and replayed
   Sharing sharing;      ///< of memory without a file
};

/// Bytes that the process has allocated, in all instances: VK_EXT_memory_budget's usage of each
/// heap, because all heaps are the system's memory. A file with several mappings counts once.
uint64_t heap_usage();

VK_DEFINE_NONDISP_HANDLE_CASTS(DeviceMemory, vk.base, VkDeviceMemory, VK_OBJECT_TYPE_DEVICE_MEMORY)

/// The address to which VkBindBufferMemoryInfo or VkBindImageMemoryInfo binds. Fills in the status
/// that their chain may have.
template <typename BindInfo>
uint8_t *bind_to_memory(const BindInfo &info)
{
   VK_FROM_HANDLE(DeviceMemory, memory, info.memory);
   const VkBindMemoryStatusKHR *status = vk_find_struct_const(info.pNext, BIND_MEMORY_STATUS_KHR);
   if (status)
      *status->pResult = VK_SUCCESS;
   return memory->map + info.memoryOffset;
}

} // namespace weft
