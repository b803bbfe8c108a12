// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The memory of buffers and images, for which the same rules hold.

#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace weft {

/// The indices of memory types: the host's, the device's, and the device's whose pages may be bound
/// to sparse resources (sparse.h). All are the same memory.
enum MemoryType : uint32_t { host_memory, device_memory, sparse_memory, memory_types };

/// The requirements of a resource of this size, as bits of memory types: sparse resources have the
/// last type only, and are bound in whole blocks. No memory is dedicated.
/// `sparse_block`: the bytes of a block; 0 if the resource is not sparse.
void write_requirements(uint64_t size, uint64_t sparse_block, VkMemoryRequirements2 *);
/// The ways to share memory by this kind of handle.
VkExternalMemoryProperties external_memory_properties(VkExternalMemoryHandleTypeFlagBits,
                                                      bool is_sparse);

} // namespace weft
