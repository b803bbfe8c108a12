// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The memory of buffers and images, for which the same rules hold.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace weft {

/// VkMemoryRequirements::memoryTypeBits of all resources: all types are the same memory.
constexpr uint32_t all_memory_types = 0b11;

/// The requirements of a resource of this size: any memory, not dedicated. Sparse resources are
/// bound in whole pages.
void write_requirements(uint64_t size, bool is_sparse, VkMemoryRequirements2 *);
/// The ways to share memory by this kind of handle.
VkExternalMemoryProperties external_memory_properties(VkExternalMemoryHandleTypeFlagBits,
                                                      bool is_sparse);

} // namespace weft
