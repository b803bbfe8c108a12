// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The pages of device memory that is not shared with other processes.
///
/// Linux limits a process to 65,530 mappings (vm.max_map_count). It joins neighbouring mappings,
/// but each hole between them costs one; at the limit munmap() and mmap() fail for the whole
/// process.  So holes are rare here:
///  * Small allocations share blocks of 32 MiB. A free part of a block stays mapped, without pages,
///    and is allocated again. A block without allocations is unmapped.
///  * Large allocations are mappings of their own. If the kernel refuses to unmap one, it stays
///    mapped, without pages, and is allocated again, or unmapped with its neighbours.

#pragma once

#include <cstdint>

namespace weft {

constexpr uint64_t page_size = 4096;

/// Zeroed pages; null if the kernel has none. The size is a multiple of the page size. Allocations
/// that a huge page fits in begin at a multiple of its size.
uint8_t *allocate_pages(uint64_t size);

/// Gives the pages back to the system.
void free_pages(uint8_t *start, uint64_t size);

} // namespace weft
