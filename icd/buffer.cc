// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/buffer.h"

#include "icd/device.h"
#include "icd/device_memory.h"
#include "icd/physical_device.h"
#include "icd/resource_memory.h"
#include "icd/sparse.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

#include <algorithm>

namespace weft {

cpu::BufferDescriptor describe_buffer(VkDeviceAddress address, VkDeviceSize range)
{
   if (!address)
      return {};
   // Offsets in shaders have 32 bits, so the bound that they are compared with must fit 32 bits.
   return {.address = address, .size = std::min(range, VkDeviceSize(UINT32_MAX))};
}

} // namespace weft

using namespace weft;

static constexpr VkBufferCreateFlags replayable_buffer_flags =
   VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT |
   VK_BUFFER_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT;

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateBuffer(VkDevice _device,
                                                 const VkBufferCreateInfo *pCreateInfo,
                                                 const VkAllocationCallbacks *pAllocator,
                                                 VkBuffer *pBuffer)
{
   VK_FROM_HANDLE(Device, device, _device);
   if (pCreateInfo->size > max_buffer_size)
      return vk_error(device, VK_ERROR_OUT_OF_DEVICE_MEMORY);

   auto *buffer =
      static_cast<Buffer *>(vk_buffer_create(&device->vk, pCreateInfo, pAllocator, sizeof(Buffer)));
   if (!buffer)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   if (buffer->is_sparse()) {
      const VkResult result =
         reserve_sparse(pCreateInfo->size, pCreateInfo->flags & replayable_buffer_flags,
                        pCreateInfo->pNext, &buffer->address);
      if (result != VK_SUCCESS) {
         vk_buffer_destroy(&device->vk, pAllocator, &buffer->vk);
         return vk_error(device, result);
      }
   }
   *pBuffer = Buffer_to_handle(buffer);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyBuffer(VkDevice _device, VkBuffer _buffer,
                                              const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Buffer, buffer, _buffer);
   if (!buffer)
      return;
   if (buffer->is_sparse())
      release_sparse(buffer->address, buffer->vk.size);
   vk_buffer_destroy(&device->vk, pAllocator, &buffer->vk);
}

VKAPI_ATTR void VKAPI_CALL
weft_GetDeviceBufferMemoryRequirements(VkDevice, const VkDeviceBufferMemoryRequirements *pInfo,
                                       VkMemoryRequirements2 *pMemoryRequirements)
{
   write_requirements(pInfo->pCreateInfo->size,
                      pInfo->pCreateInfo->flags & sparse_buffer_flags ? page_size : 0,
                      pMemoryRequirements);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_BindBufferMemory2(VkDevice, uint32_t bindInfoCount,
                                                      const VkBindBufferMemoryInfo *pBindInfos)
{
   for (uint32_t i = 0; i < bindInfoCount; i++) {
      VK_FROM_HANDLE(Buffer, buffer, pBindInfos[i].buffer);
      buffer->address = bind_to_memory(pBindInfos[i]);
   }
   return VK_SUCCESS;
}

VKAPI_ATTR VkDeviceAddress VKAPI_CALL
weft_GetBufferDeviceAddress(VkDevice, const VkBufferDeviceAddressInfo *pInfo)
{
   VK_FROM_HANDLE(Buffer, buffer, pInfo->buffer);
   return VkDeviceAddress(uintptr_t(buffer->address));
}

// A buffer has the address of its memory, so the memory's address suffices for a replay.
VKAPI_ATTR uint64_t VKAPI_CALL
weft_GetBufferOpaqueCaptureAddress(VkDevice device, const VkBufferDeviceAddressInfo *pInfo)
{
   return weft_GetBufferDeviceAddress(device, pInfo);
}
