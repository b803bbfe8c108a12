// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "util/list.h"
#include "vk_object.h"

#include "backend/cpu/abi.h"

#include <cstdint>

struct vk_descriptor_update_template;

namespace weft {

struct DescriptorSetLayout;

/// The memory of a set's descriptors: a VkDescriptorSet's, or a command buffer's push descriptors.
struct DescriptorStorage {
   const DescriptorSetLayout *layout;
   uint8_t *data;                  ///< in the layout of DescriptorSetLayout
   cpu::BufferDescriptor *dynamic; ///< before dynamic offsets are applied
};

struct DescriptorSet {
   vk_object_base base;
   list_head link; ///< in DescriptorPool::sets
   DescriptorSetLayout *layout;
   uint32_t pool_bytes; ///< charged to its pool
   DescriptorStorage storage;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(DescriptorSet, base, VkDescriptorSet, VK_OBJECT_TYPE_DESCRIPTOR_SET)

/// Writes the immutable samplers into the first `size` bytes of new descriptors.
void write_immutable_samplers(const DescriptorStorage &, uint32_t size);
/// Write descriptors as vkUpdateDescriptorSets and vkUpdateDescriptorSetWithTemplate do.
void write_descriptors(const DescriptorStorage &, const VkWriteDescriptorSet &);
void write_descriptors(const DescriptorStorage &, const vk_descriptor_update_template *,
                       const void *data);

} // namespace weft
