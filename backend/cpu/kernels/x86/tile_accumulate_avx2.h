// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How sums of integer products meet C, in 256 bits.

#pragma once

#include "backend/cpu/kernels/tile_muladd.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

template <Accumulation Mode>
__m256i accumulate(__m256i sum, __m256i c)
{
   const __m256i wrapped = _mm256_add_epi32(sum, c);
   if constexpr (Mode == Accumulation::saturating_signed) {
      // Overflow: both have the sign that the result has not.
      const __m256i overflow =
         _mm256_andnot_si256(_mm256_xor_si256(sum, c), _mm256_xor_si256(sum, wrapped));
      const __m256i limit =
         _mm256_xor_si256(_mm256_srai_epi32(sum, 31), _mm256_set1_epi32(0x7fffffff));
      return _mm256_castps_si256(_mm256_blendv_ps(
         _mm256_castsi256_ps(wrapped), _mm256_castsi256_ps(limit), _mm256_castsi256_ps(overflow)));
   } else if constexpr (Mode == Accumulation::saturating_unsigned) {
      const __m256i kept = _mm256_cmpeq_epi32(_mm256_max_epu32(wrapped, sum), wrapped);
      return _mm256_or_si256(wrapped, _mm256_xor_si256(kept, _mm256_set1_epi32(-1)));
   } else {
      return wrapped;
   }
}

} // namespace
} // namespace weft::cpu
