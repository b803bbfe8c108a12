// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Rows of halves and of bfloat16, as floats (tile_rows.h).

#pragma once

#include "backend/cpu/kernels/tile_rows.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// 8 lanes with F16C, 16 with AVX-512.
template <int Lanes>
struct Halves {
   using Vector = typename Floats<Lanes>::Vector;
   static constexpr int bytes = 2;

   static Vector load(const void *memory)
   {
      if constexpr (Lanes == 16)
         return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i_u *>(memory)));
      else
         return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i_u *>(memory)));
   }
   static void store(void *memory, Vector v)
   {
      constexpr int rounding = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
      if constexpr (Lanes == 16)
         _mm256_storeu_si256(static_cast<__m256i_u *>(memory), _mm512_cvtps_ph(v, rounding));
      else
         _mm_storeu_si128(static_cast<__m128i_u *>(memory), _mm256_cvtps_ph(v, rounding));
   }
};

/// store() needs AVX512-BF16.
template <int Lanes>
struct BFloats {
   using Vector = typename Floats<Lanes>::Vector;
   static constexpr int bytes = 2;

   static Vector load(const void *memory)
   {
      if constexpr (Lanes == 16) {
         const __m256i bits = _mm256_loadu_si256(static_cast<const __m256i_u *>(memory));
         return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
      } else {
         const __m128i bits = _mm_loadu_si128(static_cast<const __m128i_u *>(memory));
         return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
      }
   }
   static void store(void *memory, Vector v)
   {
      if constexpr (Lanes == 16)
         _mm256_storeu_si256(static_cast<__m256i_u *>(memory), (__m256i)_mm512_cvtneps_pbh(v));
      else
         _mm_storeu_si128(static_cast<__m128i_u *>(memory), (__m128i)_mm256_cvtneps_pbh(v));
   }
};

} // namespace
} // namespace weft::cpu
