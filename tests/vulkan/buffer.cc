// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/buffer.h"

namespace weft::vulkan {

static MappedBuffer create(const Device &device, VkDeviceSize size, MemoryPlace place)
{
   const bool addressable = device.features12.bufferDeviceAddress;
   const VkBuffer buffer = create_buffer(
      device.device, size,
      VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
         VK_BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
         VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
         (addressable ? VkBufferUsageFlags(VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) : 0));
   const uint32_t type =
      device.memory_type(requirements(device.device, buffer).memoryTypeBits, place);
   return bind_mapped(device.device, buffer, size, type, addressable);
}

Buffer::Buffer(Device &device, VkDeviceSize size, MemoryPlace place)
    : device(device), buffer(create(device, size, place))
{
}

Buffer::~Buffer()
{
   destroy(device.device, buffer);
}

VkDeviceAddress Buffer::address() const
{
   const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = buffer.handle};
   return vkGetBufferDeviceAddress(device.device, &info);
}

} // namespace weft::vulkan
