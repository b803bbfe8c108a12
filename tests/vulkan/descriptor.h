// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>

namespace weft::vulkan {

/// A descriptor of any type, which uses one of the members.
struct Descriptor {
   VkDescriptorImageInfo image = {};
   VkDescriptorBufferInfo buffer = {};
   VkBufferView texels = VK_NULL_HANDLE;
};

void write_descriptor(VkDevice, VkDescriptorSet, uint32_t binding, VkDescriptorType,
                      const Descriptor &, uint32_t element = 0);

} // namespace weft::vulkan
