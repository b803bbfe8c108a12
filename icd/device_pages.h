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

/// MAP_PRIVATE, or MAP_SHARED if the pages may get a second address (icd/sparse.h). A child of
/// fork() shares the latter.
using Sharing = int;

/// Returns zeroed pages; null if the kernel has no memory. The size must be a multiple of the page
/// size. Allocations that can contain a huge page begin at a multiple of its size.
uint8_t *allocate_pages(uint64_t size, Sharing);

/// Maps pages at a captured address, or null if it is not free. If it is 0, maps them at an address
/// that a later process can probably have again.
uint8_t *map_replayable(uint64_t captured, uint64_t size, Sharing);

/// Returns the pages to the system.
void free_pages(uint8_t *start, uint64_t size, Sharing);

} // namespace weft
