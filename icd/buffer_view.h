// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_buffer_view.h"

#include "nir_passes/images/texel_descriptor.h"

#include <optional>

namespace weft {

/// A texel buffer.
struct BufferView {
   vk_buffer_view vk;
   TexelDescriptor descriptor;
};

/// The texels of a buffer's format; nothing if texel buffers do not support it.
std::optional<TexelFormat> buffer_format(VkFormat);

/// The whole texels of the format at an address; a null descriptor for no address.
TexelDescriptor describe_texels(VkDeviceAddress, VkDeviceSize range, const TexelFormat &);

VK_DEFINE_NONDISP_HANDLE_CASTS(BufferView, vk.base, VkBufferView, VK_OBJECT_TYPE_BUFFER_VIEW)

} // namespace weft
