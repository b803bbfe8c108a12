// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/descriptor.h"

namespace weft::vulkan {

void write_descriptor(VkDevice device, VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                      const Descriptor &descriptor, uint32_t element)
{
   const VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .dstSet = set,
      .dstBinding = binding,
      .dstArrayElement = element,
      .descriptorCount = 1,
      .descriptorType = type,
      .pImageInfo = &descriptor.image,
      .pBufferInfo = &descriptor.buffer,
      .pTexelBufferView = &descriptor.texels,
   };
   vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
}

} // namespace weft::vulkan
