// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weft {

/// Fills memory with a pattern, whose size divides the memory's, at the speed of memcpy: the filled
/// part is the source of the next copy. The source stays in the first-level cache.
inline void repeat_bytes(uint8_t *memory, uint64_t size, const void *pattern, uint32_t pattern_size)
{
   constexpr uint64_t largest_source = 1 << 14;
   if (size == 0)
      return;
   memcpy(memory, pattern, pattern_size);
   for (uint64_t filled = pattern_size; filled < size;) {
      // A multiple of the pattern.
      const uint64_t source = std::min(filled, largest_source / pattern_size * pattern_size);
      const uint64_t bytes = std::min(source, size - filled);
      memcpy(memory + filled, memory, bytes);
      filled += bytes;
   }
}

} // namespace weft
