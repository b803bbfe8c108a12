// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Floating-point tile multiplication with AVX-512.  Halves are widened: FP16's own arithmetic
/// would round every sum.

#include "backend/cpu/kernels/tile_muladd.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

constexpr int vector_bytes = 64;
/// A whole column of 16 rows; half of the registers.
constexpr int accumulators = 16;

template <int Lanes>
struct HalfVector {
   struct Element {
      char bytes[2];
   };

   static auto load(const void *memory)
   {
      if constexpr (Lanes == 16)
         return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i_u *>(memory)));
      else
         return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i_u *>(memory)));
   }
   static void store(void *memory, __m512 v)
   {
      _mm256_storeu_si256(static_cast<__m256i_u *>(memory),
                          _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
   }
   static void store(void *memory, __m256 v)
   {
      _mm_storeu_si128(static_cast<__m128i_u *>(memory),
                       _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
   }
};

} // namespace
} // namespace weft::cpu

#include "backend/cpu/kernels/x86/tile_muladd_float.h"
#include "backend/cpu/kernels/x86/tile_muladd_widened.h"

namespace weft::cpu {

TileProduct find_tile_product_avx512(const MatrixOperation &op)
{
   const TileProduct found = find_float_product(op);
   return found ? found : find_widened_product(op);
}

} // namespace weft::cpu
