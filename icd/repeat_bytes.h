// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>

namespace weft {

/// A pattern, as lines that fill memory. Copies of a line's fixed size become stores of registers.
/// memcpy() from memory that is filled already took twice as long with glibc 2.42 on Zen 4.
class RepeatedBytes {
public:
   /// The pattern's size divides that of the lines.
   RepeatedBytes(const void *pattern, uint32_t pattern_size)
   {
      assert(sizeof(lines) % pattern_size == 0);
      for (uint32_t i = 0; i < sizeof(lines); i += pattern_size)
         memcpy(&lines[i], pattern, pattern_size);
   }

   /// The pattern's size divides the memory's.
   void fill(uint8_t *memory, uint64_t size) const
   {
      const Lines own = lines; // the compiler sees that no store changes them
      uint64_t filled = 0;
      for (; size - filled >= sizeof(own); filled += sizeof(own)) {
         for (uint32_t i = 0; i < sizeof(own); i += line)
            memcpy(memory + filled + i, &own[i], line);
      }
      if (filled < size)
         memcpy(memory + filled, own.data(), size - filled);
   }

private:
   static constexpr uint32_t line = 64, count = 3; // for texels of 3, 6 and 12 bytes too
   using Lines = std::array<uint8_t, line * count>;
   Lines lines;
};

} // namespace weft
