// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/memory/binding_layout.h"
#include "nir_passes/result.h"

#include "compiler/nir/nir_builder.h"

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

/// The slot of a buffer's address, for a back end that keeps descriptors in memory:
///
///    31       30         29                 8 7       0
///    inline | optional | bytes of inline data | slot |
///
/// inline: the slot holds the data itself, without a descriptor. optional: the set may end before
/// the descriptor, so only code that the shader reaches may read it. A null pointer is all ones.
/// unbounded_inline_bytes: the whole set as data, for code that reads the descriptors themselves.
constexpr uint32_t inline_data_slot = 0x80000000u, optional_slot = 0x40000000u;
constexpr uint32_t unbounded_inline_bytes = (1u << 22) - 1;
constexpr uint32_t max_inline_bytes = unbounded_inline_bytes - 1;
constexpr uint32_t slot_number(uint32_t slot)
{
   return slot & 0xff;
}
constexpr uint32_t inline_bytes(uint32_t slot)
{
   return slot >> 8 & unbounded_inline_bytes;
}

Result<BindingLayout> find_binding(std::span<const BindingLayout>, uint32_t set, uint32_t binding);

/// A descriptor in memory.
struct DescriptorPlace {
   uint32_t slot;   ///< with optional_slot
   nir_def *offset; ///< bytes
};
/// The place of the binding's descriptor at an index, which is clamped to the array (unless its
/// `count` is 0).
DescriptorPlace descriptor_place(nir_builder *, const BindingLayout &, nir_def *index);

/// Replaces Vulkan's resource intrinsics by the (slot, offset of the descriptor, 0) that begins a
/// buffer's address in nir_address_format_vec2_index_32bit_offset. A dynamic index is clamped to
/// the array (unless its `count` is 0). An Error if the shader uses a binding that is not listed.
Result<bool> lower_descriptors(nir_shader *, std::span<const BindingLayout>);

/// For a back end that keeps Vulkan's bindings: the bindings of the shader's buffers, with their
/// number as the slot. lower_descriptors() then makes addresses (slot, index into the array of
/// descriptors, offset).
std::vector<BindingLayout> own_bindings(nir_shader *);

} // namespace weft
