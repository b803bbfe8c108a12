// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/device_memory.h"

#include "icd/device.h"
#include "icd/physical_device.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_util.h"

#include <atomic>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft;

namespace {

constexpr uint64_t page_size = 4096;
/// Allocations of at least this size start at a multiple of it, so that the kernel can back them
/// with huge pages.
constexpr uint64_t huge_page_size = 2 << 20;

std::atomic<uint64_t> heap_used = 0;

/// Takes size bytes of the heap, or says that there are not so many.
bool reserve_heap(const PhysicalDevice *pdev, uint64_t size)
{
   uint64_t used = heap_used.load(std::memory_order_relaxed);
   do {
      if (size > pdev->heap_size || used > pdev->heap_size - size)
         return false;
   } while (!heap_used.compare_exchange_weak(used, used + size, std::memory_order_relaxed));
   return true;
}

void release_heap(uint64_t size)
{
   heap_used.fetch_sub(size, std::memory_order_relaxed);
}

/// Zeroed pages of our own, at a multiple of the huge page size when they could fill one.  Null
/// when the kernel has no more.
uint8_t *map_anonymous(uint64_t size)
{
   constexpr int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
   if (size < huge_page_size) {
      void *map = mmap(nullptr, size, protection, flags, -1, 0);
      return map == MAP_FAILED ? nullptr : static_cast<uint8_t *>(map);
   }

   void *map = mmap(nullptr, size + huge_page_size, protection, flags, -1, 0);
   if (map == MAP_FAILED)
      return nullptr;
   auto *start = static_cast<uint8_t *>(map);
   uint64_t before = align64(uintptr_t(start), huge_page_size) - uintptr_t(start);
   if (before > 0)
      munmap(start, before);
   if (before < huge_page_size)
      munmap(start + before + size, huge_page_size - before);
   madvise(start + before, size, MADV_HUGEPAGE);
   return start + before;
}

uint8_t *map_file(int fd, uint64_t size)
{
   void *map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   return map == MAP_FAILED ? nullptr : static_cast<uint8_t *>(map);
}

VkResult allocate_exportable(DeviceMemory *memory)
{
   memory->fd = memfd_create("weft memory", MFD_CLOEXEC);
   if (memory->fd < 0 || ftruncate(memory->fd, off_t(memory->mapped_size)) != 0)
      return VK_ERROR_OUT_OF_DEVICE_MEMORY;
   memory->map = map_file(memory->fd, memory->mapped_size);
   return memory->map ? VK_SUCCESS : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

/// Takes ownership of the file descriptor when it succeeds (VkImportMemoryFdInfoKHR).
VkResult import_fd(DeviceMemory *memory, const VkImportMemoryFdInfoKHR *info)
{
   struct stat file;
   if (fstat(info->fd, &file) != 0 || uint64_t(file.st_size) < memory->vk.size)
      return VK_ERROR_INVALID_EXTERNAL_HANDLE;
   memory->map = map_file(info->fd, memory->mapped_size);
   if (!memory->map)
      return VK_ERROR_INVALID_EXTERNAL_HANDLE;
   memory->fd = info->fd;
   return VK_SUCCESS;
}

VkResult provide_pages(DeviceMemory *memory, const VkMemoryAllocateInfo *info)
{
   const VkImportMemoryFdInfoKHR *fd_info =
      vk_find_struct_const(info->pNext, IMPORT_MEMORY_FD_INFO_KHR);
   if (fd_info && fd_info->handleType)
      return import_fd(memory, fd_info);

   if (memory->vk.host_ptr) {
      memory->map = static_cast<uint8_t *>(memory->vk.host_ptr);
      memory->borrowed = true;
      return VK_SUCCESS;
   }
   if (memory->vk.export_handle_types)
      return allocate_exportable(memory);

   memory->map = map_anonymous(memory->mapped_size);
   return memory->map ? VK_SUCCESS : VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

} // namespace

uint64_t weft::heap_usage()
{
   return heap_used.load(std::memory_order_relaxed);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_AllocateMemory(VkDevice _device,
                                                   const VkMemoryAllocateInfo *pAllocateInfo,
                                                   const VkAllocationCallbacks *pAllocator,
                                                   VkDeviceMemory *pMemory)
{
   VK_FROM_HANDLE(Device, device, _device);
   const PhysicalDevice *pdev = device->physical();

   auto *memory = static_cast<DeviceMemory *>(
      vk_device_memory_create(&device->vk, pAllocateInfo, pAllocator, sizeof(DeviceMemory)));
   if (!memory)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   memory->fd = -1;

   // Rounding up could overflow; nothing that large exists anyway.
   if (memory->vk.size > max_buffer_size) {
      vk_device_memory_destroy(&device->vk, pAllocator, &memory->vk);
      return vk_error(device, VK_ERROR_OUT_OF_DEVICE_MEMORY);
   }
   memory->mapped_size = align64(memory->vk.size, page_size);

   bool counted = !memory->vk.host_ptr;
   VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
   if (!counted || reserve_heap(pdev, memory->mapped_size)) {
      result = provide_pages(memory, pAllocateInfo);
      if (result != VK_SUCCESS && counted)
         release_heap(memory->mapped_size);
   }
   if (result != VK_SUCCESS) {
      if (memory->fd >= 0)
         close(memory->fd);
      vk_device_memory_destroy(&device->vk, pAllocator, &memory->vk);
      return vk_errorf(device, result, "cannot allocate %llu bytes of device memory",
                       (unsigned long long)pAllocateInfo->allocationSize);
   }

   *pMemory = DeviceMemory_to_handle(memory);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_FreeMemory(VkDevice _device, VkDeviceMemory _memory,
                                           const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DeviceMemory, memory, _memory);
   if (!memory)
      return;
   if (!memory->borrowed) {
      munmap(memory->map, memory->mapped_size);
      release_heap(memory->mapped_size);
   }
   if (memory->fd >= 0)
      close(memory->fd);
   vk_device_memory_destroy(&device->vk, pAllocator, &memory->vk);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_MapMemory2KHR(VkDevice,
                                                  const VkMemoryMapInfoKHR *pMemoryMapInfo,
                                                  void **ppData)
{
   VK_FROM_HANDLE(DeviceMemory, memory, pMemoryMapInfo->memory);
   *ppData = memory->map + pMemoryMapInfo->offset;
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_UnmapMemory2KHR(VkDevice, const VkMemoryUnmapInfoKHR *)
{
   return VK_SUCCESS;
}

// All memory is coherent: nothing to write back or to drop.
VKAPI_ATTR VkResult VKAPI_CALL weft_FlushMappedMemoryRanges(VkDevice, uint32_t,
                                                            const VkMappedMemoryRange *)
{
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_InvalidateMappedMemoryRanges(VkDevice, uint32_t,
                                                                 const VkMappedMemoryRange *)
{
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_GetDeviceMemoryCommitment(VkDevice, VkDeviceMemory _memory,
                                                          VkDeviceSize *pCommittedMemoryInBytes)
{
   VK_FROM_HANDLE(DeviceMemory, memory, _memory);
   *pCommittedMemoryInBytes = memory->vk.size;
}

VKAPI_ATTR uint64_t VKAPI_CALL
weft_GetDeviceMemoryOpaqueCaptureAddress(VkDevice, const VkDeviceMemoryOpaqueCaptureAddressInfo *)
{
   return 0; // bufferDeviceAddressCaptureReplay is not supported
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetMemoryFdKHR(VkDevice _device,
                                                   const VkMemoryGetFdInfoKHR *pGetFdInfo, int *pFd)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DeviceMemory, memory, pGetFdInfo->memory);
   *pFd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
   return *pFd < 0 ? vk_error(device, VK_ERROR_TOO_MANY_OBJECTS) : VK_SUCCESS;
}

// Opaque file descriptors have no properties to ask for
// (VUID-vkGetMemoryFdPropertiesKHR-handleType-00674).
VKAPI_ATTR VkResult VKAPI_CALL weft_GetMemoryFdPropertiesKHR(VkDevice _device,
                                                             VkExternalMemoryHandleTypeFlagBits,
                                                             int, VkMemoryFdPropertiesKHR *)
{
   VK_FROM_HANDLE(Device, device, _device);
   return vk_error(device, VK_ERROR_INVALID_EXTERNAL_HANDLE);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetMemoryHostPointerPropertiesEXT(
   VkDevice, VkExternalMemoryHandleTypeFlagBits handleType, const void *,
   VkMemoryHostPointerPropertiesEXT *pMemoryHostPointerProperties)
{
   pMemoryHostPointerProperties->memoryTypeBits =
      handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT ? 1 : 0;
   return VK_SUCCESS;
}
