// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_buffer_view.h"

#include "nir_passes/images/texel_descriptor.h"

namespace weft {

/// A texel buffer.
struct BufferView {
   vk_buffer_view vk;
   TexelDescriptor descriptor;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(BufferView, vk.base, VkBufferView, VK_OBJECT_TYPE_BUFFER_VIEW)

} // namespace weft
