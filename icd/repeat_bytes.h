// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace weft {

/// Fills memory with a pattern, whose size divides the memory's and that of three lines. Copies of
/// lines of a fixed size become stores of registers. memcpy() from memory that is filled already
/// took twice as long with glibc 2.42 on Zen 4.
inline void repeat_bytes(uint8_t *memory, uint64_t size, const void *pattern, uint32_t pattern_size)
{
   constexpr uint32_t line = 64, count = 3; // for texels of 3, 6 and 12 bytes too
   uint8_t lines[count][line];
   assert(sizeof(lines) % pattern_size == 0);
   for (uint64_t i = 0; i < std::min<uint64_t>(sizeof(lines), size); i += pattern_size)
      memcpy(&lines[0][0] + i, pattern, pattern_size);
   uint64_t filled = 0;
   for (; size - filled >= sizeof(lines); filled += sizeof(lines)) {
      for (uint32_t i = 0; i < count; i++)
         memcpy(memory + filled + i * line, lines[i], line);
   }
   if (filled < size)
      memcpy(memory + filled, lines, size - filled);
}

} // namespace weft
