// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Buffers of Device.

#pragma once

#include "tests/vulkan/device.h"
#include "tests/vulkan/objects.h"

#include <cstddef>
#include <span>

namespace weft::vulkan {

/// A storage, uniform and texel buffer that the host sees.
class Buffer {
public:
   Buffer(Device &, VkDeviceSize size, MemoryPlace = MemoryPlace::host);
   ~Buffer();
   Buffer(const Buffer &) = delete;
   Buffer &operator=(const Buffer &) = delete;

   std::span<std::byte> bytes() { return buffer.as<std::byte>(); }
   template <typename T>
   std::span<T> as()
   {
      return buffer.as<T>();
   }
   VkBuffer handle() const { return buffer.handle; }
   VkDeviceSize size() const { return buffer.size; }
   VkDeviceAddress address() const;

private:
   Device &device;
   MappedBuffer buffer;
};

/// A storage or uniform buffer as a shader sees it.
struct BufferRange {
   Buffer *buffer;
   VkDeviceSize offset = 0, size = VK_WHOLE_SIZE;
   BufferRange(Buffer &buffer) : buffer(&buffer) {}
   BufferRange(Buffer &buffer, VkDeviceSize offset, VkDeviceSize size)
       : buffer(&buffer), offset(offset), size(size)
   {
   }
};

} // namespace weft::vulkan
