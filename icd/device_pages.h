// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The pages of device memory that is not shared with other processes.
///
/// Linux limits a process to 65,530 mappings (vm.max_map_count). It joins neighbouring mappings,
/// but each hole between them costs one. At the limit, munmap() and mmap() fail for the whole
/// process. So this allocator leaves few holes:
/// * Small allocations share blocks of 32 MiB. A free part of a block stays mapped, without pages,
///   and is allocated again. A block without allocations is unmapped.
/// * Large allocations have their own mappings. If the kernel refuses to unmap one, it stays
///   mapped, without pages, and is allocated again, or unmapped with its neighbours.

#pragma once

#include <cstdint>

namespace weft {

constexpr uint64_t page_size = 4096;

/// Returns zeroed pages; null if the kernel has no memory. The size must be a multiple of the page
/// size. Allocations that can contain a huge page begin at a multiple of its size.
uint8_t *allocate_pages(uint64_t size);

/// Returns the pages to the system.
void free_pages(uint8_t *start, uint64_t size);

} // namespace weft
