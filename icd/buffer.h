// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_buffer.h"

#include "backend/cpu/abi.h"

#include <cstdint>

namespace weft {

struct Buffer {
   vk_buffer vk;
   uint8_t *address; ///< of its first byte; null until memory is bound

   bool is_sparse() const { return vk.create_flags & VK_BUFFER_CREATE_SPARSE_BINDING_BIT; }
};

/// A null descriptor for no address.
cpu::BufferDescriptor describe_buffer(VkDeviceAddress, VkDeviceSize range);

VK_DEFINE_NONDISP_HANDLE_CASTS(Buffer, vk.base, VkBuffer, VK_OBJECT_TYPE_BUFFER)

} // namespace weft
