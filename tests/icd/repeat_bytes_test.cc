// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/repeat_bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

/// Memory of many lines, and the byte behind it.
TEST(RepeatBytes, FillsWithWholePatternsOnly)
{
   const uint8_t pattern[] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 89, 79, 32, 38, 46, 26};
   for (const uint32_t pattern_size : {1, 2, 3, 4, 6, 8, 12, 16}) {
      for (const uint64_t count : {0, 1, 2, 3, 1000, 1366, 4096, 20000}) {
         const uint64_t size = count * pattern_size;
         std::vector<uint8_t> memory(size + 1, 77), expected(size + 1, 77);
         for (uint64_t i = 0; i < size; ++i)
            expected[i] = pattern[i % pattern_size];
         RepeatedBytes(pattern, pattern_size).fill(memory.data(), size);
         EXPECT_EQ(memory, expected) << pattern_size << " bytes, " << count << " times";
      }
   }
}

} // namespace
} // namespace weft
