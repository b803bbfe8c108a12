// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/buffer_view.h"

#include "icd/buffer.h"
#include "icd/device.h"
#include "weft_entrypoints.h"

#include "backend/cpu/abi.h"

#include "vk_format.h"
#include "vk_log.h"

#include <algorithm>
#include <cstddef>

namespace weft {

std::optional<TexelFormat> buffer_format(VkFormat name)
{
   const std::optional<TexelFormat> format = texel_format(vk_format_to_pipe_format(name));
   // Offsets of larger texels would not fit 32 bits (max_texel_elements).
   const bool is_supported =
      format && format->texel_bytes <= 16 && !vk_format_is_depth_or_stencil(name) &&
      format->numbers != TexelNumbers::srgb && format->numbers != TexelNumbers::block &&
      format->numbers != TexelNumbers::shared_exponent;
   return is_supported ? format : std::nullopt;
}

TexelDescriptor describe_texels(VkDeviceAddress address, VkDeviceSize range,
                                const TexelFormat &format)
{
   if (!address)
      return {};
   const auto elements =
      uint32_t(std::min<VkDeviceSize>(range / format.texel_bytes, max_texel_elements));
   return {
      .address = address,
      .size = uint64_t(elements) * format.texel_bytes,
      .format = format,
      .elements = elements,
   };
}

} // namespace weft

using namespace weft;

// Generated code accesses the bytes of texels through a buffer's descriptor.
static_assert(offsetof(TexelDescriptor, address) == offsetof(cpu::BufferDescriptor, address) &&
              offsetof(TexelDescriptor, size) == offsetof(cpu::BufferDescriptor, size));

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateBufferView(VkDevice _device,
                                                     const VkBufferViewCreateInfo *pCreateInfo,
                                                     const VkAllocationCallbacks *pAllocator,
                                                     VkBufferView *pView)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Buffer, buffer, pCreateInfo->buffer);
   *pView = VK_NULL_HANDLE;
   const std::optional<TexelFormat> format = buffer_format(pCreateInfo->format);
   // The command may not return VK_ERROR_FORMAT_NOT_SUPPORTED.
   if (!format)
      return vk_errorf(device, VK_ERROR_UNKNOWN, "the format of a texel buffer is not supported");
   auto *view = static_cast<BufferView *>(
      vk_buffer_view_create(&device->vk, pCreateInfo, pAllocator, sizeof(BufferView)));
   if (!view)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   const VkDeviceAddress address =
      VkDeviceAddress(uintptr_t(buffer->address)) + pCreateInfo->offset;
   view->descriptor = describe_texels(address, view->vk.range, *format);
   *pView = BufferView_to_handle(view);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyBufferView(VkDevice _device, VkBufferView _view,
                                                  const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(BufferView, view, _view);
   if (view)
      vk_buffer_view_destroy(&device->vk, pAllocator, &view->vk);
}
