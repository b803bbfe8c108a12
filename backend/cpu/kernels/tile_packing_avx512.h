// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// B as instructions want it that multiply several components along k at once: those of a column become neighbours.
///
///     16-bit components, two rows of B           8-bit components, four rows of B
///     b0[0] b1[0] b0[1] b1[1] …                  b0[0] b1[0] b2[0] b3[0] b0[1] …

#pragma once

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// Two rows of 16 components of 16 bits: 64 bytes.
inline __m512i interleave_two_rows_of_16(const void *b)
{
   const __m512i order = _mm512_setr_epi32(
      0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008,
      0x190009, 0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f);
   return _mm512_permutexvar_epi16(order, _mm512_loadu_si512(b));
}

/// Two rows of 8 components of 16 bits: 32 bytes.
inline __m256i interleave_two_rows_of_8(const void *b)
{
   const __m256i order =
      _mm256_setr_epi32(0x80000, 0x90001, 0xa0002, 0xb0003, 0xc0004, 0xd0005, 0xe0006, 0xf0007);
   return _mm256_permutexvar_epi16(order, _mm256_loadu_si256(static_cast<const __m256i_u *>(b)));
}

} // namespace
} // namespace weft::cpu
