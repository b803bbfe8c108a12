// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/device_memory.h"

#include "icd/device.h"
#include "icd/device_pages.h"
#include "icd/never_destroyed.h"
#include "icd/physical_device.h"
#include "icd/resource_memory.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_util.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft;

namespace {

std::atomic<uint64_t> heap_used = 0;

/// The result of a request for pages.
struct Provided {
   VkResult result = VK_SUCCESS;
   const char *reason = "";
};
constexpr Provided heap_is_full = {VK_ERROR_OUT_OF_DEVICE_MEMORY, "the heap is full"};

/// Charges `size` bytes to the heap; false if they exceed it.
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

/// The shared files that the process has mapped. Each counts once, however often it is imported,
/// until its last mapping is removed.
class SharedFiles {
public:
   /// Charges the file of a new allocation.
   Provided add(const PhysicalDevice *pdev, const struct stat &file)
   {
      const std::lock_guard lock(mutex);
      try {
         const auto [place, is_new] = files.try_emplace({file.st_dev, file.st_ino});
         if (is_new) {
            place->second.size = align64(uint64_t(file.st_size), page_size);
            if (!reserve_heap(pdev, place->second.size)) {
               files.erase(place);
               return heap_is_full;
            }
         }
         place->second.users++;
      } catch (const std::bad_alloc &) {
         return {VK_ERROR_OUT_OF_HOST_MEMORY, "no memory"};
      }
      return {};
   }

   void remove(dev_t device, ino_t inode)
   {
      const std::lock_guard lock(mutex);
      const auto place = files.find({device, inode});
      if (--place->second.users > 0)
         return;
      release_heap(place->second.size);
      files.erase(place);
   }

private:
   struct File {
      uint64_t size, users;
   };

   std::mutex mutex;
   std::map<std::pair<dev_t, ino_t>, File> files;
};

SharedFiles &shared_files()
{
   static NeverDestroyed<SharedFiles> instance;
   return instance.get();
}

/// Maps the file and takes ownership of it on success; otherwise the result is `failure`.
Provided map_file(const PhysicalDevice *pdev, DeviceMemory *memory, int fd, VkResult failure)
{
   struct stat file;
   if (fstat(fd, &file) != 0)
      return {failure, strerrordesc_np(errno)};
   if (uint64_t(file.st_size) < memory->vk.size)
      return {failure, "the file is smaller"};
   if (const Provided counted = shared_files().add(pdev, file); counted.result != VK_SUCCESS)
      return counted;
   void *map = mmap(nullptr, memory->mapped_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   if (map == MAP_FAILED) {
      const char *reason = strerrordesc_np(errno);
      shared_files().remove(file.st_dev, file.st_ino);
      return {failure, reason};
   }
   memory->map = static_cast<uint8_t *>(map);
   memory->fd = fd;
   memory->device = file.st_dev;
   memory->inode = file.st_ino;
   return {};
}

void free_shared(DeviceMemory *memory)
{
   munmap(memory->map, memory->mapped_size);
   close(memory->fd);
   shared_files().remove(memory->device, memory->inode);
}

/// The file's size is sealed: a process that receives the file cannot remove pages that others have
/// mapped.
Provided allocate_exportable(const PhysicalDevice *pdev, DeviceMemory *memory)
{
   // A size above the limit would raise a signal.
   rlimit largest;
   if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && memory->mapped_size > largest.rlim_cur)
      return {VK_ERROR_OUT_OF_DEVICE_MEMORY, strerrordesc_np(EFBIG)};
   const int fd = memfd_create("weft memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
   if (fd < 0)
      return {VK_ERROR_OUT_OF_DEVICE_MEMORY, strerrordesc_np(errno)};
   Provided provided;
   if (ftruncate(fd, off_t(memory->mapped_size)) != 0 ||
       fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
      provided = {VK_ERROR_OUT_OF_DEVICE_MEMORY, strerrordesc_np(errno)};
   else
      provided = map_file(pdev, memory, fd, VK_ERROR_OUT_OF_DEVICE_MEMORY);
   if (provided.result != VK_SUCCESS)
      close(fd);
   return provided;
}

/// Takes ownership of the file descriptor on success (VkImportMemoryFdInfoKHR).
Provided import_fd(const PhysicalDevice *pdev, DeviceMemory *memory, int fd)
{
   // If a peer could shrink the file, the next access would end the process.
   const int seals = fcntl(fd, F_GET_SEALS);
   if (seals < 0 || !(seals & F_SEAL_SHRINK))
      return {VK_ERROR_INVALID_EXTERNAL_HANDLE, "no memory of this driver: its size may change"};
   return map_file(pdev, memory, fd, VK_ERROR_INVALID_EXTERNAL_HANDLE);
}

Provided allocate_private(const PhysicalDevice *pdev, DeviceMemory *memory)
{
   if (!reserve_heap(pdev, memory->mapped_size))
      return heap_is_full;
   try {
      memory->map = allocate_pages(memory->mapped_size, memory->sharing);
   } catch (const std::bad_alloc &) {
   }
   if (memory->map)
      return {};
   release_heap(memory->mapped_size);
   return {VK_ERROR_OUT_OF_DEVICE_MEMORY, "the system has no free pages or addresses"};
}

/// Memory for bufferDeviceAddressCaptureReplay: of the captured address, or, if that is 0, of an
/// address to capture.
Provided allocate_replayable(const PhysicalDevice *pdev, DeviceMemory *memory, uint64_t captured)
{
   if (!reserve_heap(pdev, memory->mapped_size))
      return heap_is_full;
   memory->map = map_replayable(captured, memory->mapped_size, memory->sharing);
   memory->has_own_mapping = memory->map;
   if (memory->map)
      return {};
   release_heap(memory->mapped_size);
   return {captured ? VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS : VK_ERROR_OUT_OF_DEVICE_MEMORY,
           "the address is not free"};
}

Provided provide_pages(const PhysicalDevice *pdev, DeviceMemory *memory,
                       const VkMemoryAllocateInfo *info)
{
   if (memory->vk.alloc_flags & VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT) {
      const auto *captured =
         vk_find_struct_const(info->pNext, MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO);
      return allocate_replayable(pdev, memory, captured ? captured->opaqueCaptureAddress : 0);
   }
   const VkImportMemoryFdInfoKHR *fd_info =
      vk_find_struct_const(info->pNext, IMPORT_MEMORY_FD_INFO_KHR);
   if (fd_info && fd_info->handleType)
      return import_fd(pdev, memory, fd_info->fd);
   if (memory->vk.host_ptr) {
      memory->map = static_cast<uint8_t *>(memory->vk.host_ptr);
      memory->borrowed = true;
      return {};
   }
   return memory->vk.export_handle_types ? allocate_exportable(pdev, memory)
                                         : allocate_private(pdev, memory);
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
   memory->sharing = pAllocateInfo->memoryTypeIndex == sparse_memory ? MAP_SHARED : MAP_PRIVATE;

   // Rounding up could overflow; the system has less memory anyway.
   if (memory->vk.size > max_buffer_size) {
      vk_device_memory_destroy(&device->vk, pAllocator, &memory->vk);
      return vk_error(device, VK_ERROR_OUT_OF_DEVICE_MEMORY);
   }
   memory->mapped_size = align64(memory->vk.size, page_size);

   const Provided provided = provide_pages(pdev, memory, pAllocateInfo);
   if (provided.result != VK_SUCCESS) {
      vk_device_memory_destroy(&device->vk, pAllocator, &memory->vk);
      return vk_errorf(device, provided.result, "cannot allocate %llu bytes of device memory: %s",
                       (unsigned long long)pAllocateInfo->allocationSize, provided.reason);
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
   if (memory->fd >= 0) {
      free_shared(memory);
   } else if (memory->has_own_mapping) {
      munmap(memory->map, memory->mapped_size);
      release_heap(memory->mapped_size);
   } else if (!memory->borrowed) {
      free_pages(memory->map, memory->mapped_size, memory->sharing);
      release_heap(memory->mapped_size);
   }
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

// Priorities are hints. The system decides about its memory.
VKAPI_ATTR void VKAPI_CALL weft_SetDeviceMemoryPriorityEXT(VkDevice, VkDeviceMemory, float) {}

// All memory is coherent: there is nothing to flush or to invalidate.
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

VKAPI_ATTR uint64_t VKAPI_CALL weft_GetDeviceMemoryOpaqueCaptureAddress(
   VkDevice, const VkDeviceMemoryOpaqueCaptureAddressInfo *pInfo)
{
   VK_FROM_HANDLE(DeviceMemory, memory, pInfo->memory);
   return uintptr_t(memory->map);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetMemoryFdKHR(VkDevice _device,
                                                   const VkMemoryGetFdInfoKHR *pGetFdInfo, int *pFd)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(DeviceMemory, memory, pGetFdInfo->memory);
   *pFd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
   return *pFd < 0 ? vk_error(device, VK_ERROR_TOO_MANY_OBJECTS) : VK_SUCCESS;
}

// Opaque file descriptors have no properties to query
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
      handleType == VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
         ? (1 << sparse_memory) - 1
         : 0;
   return VK_SUCCESS;
}
