// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The layout of a set's descriptors in memory. A buffer's descriptor is a cpu::BufferDescriptor.
/// texel_descriptor.h has the descriptors of images and samplers. The data of an inline uniform
/// block lies among them. A mutable element has room for its largest type. Descriptor buffers have
/// the same layout (descriptor_buffer.cc), so that shaders do not depend on the kind of memory.
/// Dynamic buffers are separate, because their addresses are known only when a set is bound:
///
///   data:     | binding 0 [0] | binding 0 [1] | binding 3: inline data | binding 4 [0] | ...
///             (16-byte units)
///   dynamic:  | first dynamic buffer | second | ...
///             (in the order of binding numbers, like dynamic offsets)

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_descriptor_set_layout.h"

#include "backend/cpu/abi.h"
#include "icd/sampler.h"
#include "nir_passes/images/texel_descriptor.h"

#include <cstdint>

namespace weft {

constexpr uint32_t no_sampler = UINT32_MAX;

struct DescriptorBinding {
   uint32_t number;
   VkDescriptorType type;
   VkDescriptorBindingFlags flags;
   uint32_t count;         ///< array elements; bytes of an inline uniform block
   uint32_t stride;        ///< bytes of an element in the set's data; 0 for dynamic buffers
   uint32_t offset;        ///< bytes from the start of the set's data
   uint32_t dynamic_index; ///< number of its first element among the set's dynamic buffers
   uint32_t sampler;       ///< number of its first immutable sampler, or no_sampler

   uint32_t bytes_of(uint32_t elements) const;
};

struct DescriptorSetLayout {
   vk_descriptor_set_layout vk;
   uint32_t binding_count;
   uint32_t data_size;     ///< bytes, with variable counts at their maximum
   uint32_t dynamic_count; ///< dynamic buffers
   uint32_t sampler_count; ///< immutable samplers
   /// Whether a set's data may change after it is recorded, or be shorter than data_size.
   bool has_unknown_data;
   DescriptorBinding *bindings; ///< sorted by number, without empty ones
   ImmutableSampler *samplers;

   const DescriptorBinding *find(uint32_t number) const;
   /// The size of a set whose last binding has `variable_count` elements, if these are descriptors.
   uint32_t data_size_with(uint32_t variable_count) const;
   /// The part of that size that is charged to the descriptor pool.
   uint32_t pool_bytes_with(uint32_t variable_count) const;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(DescriptorSetLayout, vk.base, VkDescriptorSetLayout,
                               VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT)

inline bool is_dynamic(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC ||
          type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

/// The size of a descriptor in a set's data, 1 for a byte of inline data; 0 for unsupported types.
uint32_t descriptor_bytes(VkDescriptorType);

/// The same of a type that may be VK_DESCRIPTOR_TYPE_MUTABLE_EXT: an element then has room for each
/// type of the list with the number `index`. Without a list it has room for every type
/// (vkCreateDescriptorPool); 0 if an element of the list is not supported.
uint32_t descriptor_bytes(VkDescriptorType, const VkMutableDescriptorTypeCreateInfoEXT *,
                          uint32_t index);

} // namespace weft
