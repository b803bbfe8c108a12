// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication with AVX2, FMA and F16C.

#include "backend/cpu/kernels/tile_muladd.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

constexpr int vector_bytes = 32;
/// FMAs have a latency of 4 cycles and start two per cycle: 8 sums keep both units busy, with
/// registers to spare.
constexpr int accumulators = 8;

template <int Lanes>
struct HalfVector {
   static_assert(Lanes == 8);
   struct Element {
      char bytes[2];
   };

   static __m256 load(const void *memory)
   {
      return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i_u *>(memory)));
   }
   static void store(void *memory, __m256 v)
   {
      _mm_storeu_si128(static_cast<__m128i_u *>(memory),
                       _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
   }
};

} // namespace
} // namespace weft::cpu

#include "backend/cpu/kernels/tile_accumulate_avx2.h"
#include "backend/cpu/kernels/tile_muladd_float.h"
#include "backend/cpu/kernels/tile_muladd_widened.h"

namespace weft::cpu {
namespace {

template <bool Signed>
__m256i widen_bytes(__m128i bytes)
{
   return Signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/// Components become 16-bit integers, of which VPMADDWD multiplies pairs along k and adds the two products: always
/// exact.  (VPMADDUBSW on the bytes themselves would saturate at 16 bits.)
///
///     A: as it lies, one pair broadcast            B: pairs of rows interleaved, 8 columns per vector
///        a[r][2p], a[r][2p+1]                         b[2p][n], b[2p+1][n], b[2p][n+1], b[2p+1][n+1], …
template <typename Shape, typename Types>
void muladd_i8(void *d, const void *a, const void *b, const void *c)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   constexpr int V = N / 8, pairs = K / 2, R = accumulators / V;
   static_assert(M % R == 0);
   const auto *a_bytes = static_cast<const char *>(a), *b_bytes = static_cast<const char *>(b);
   alignas(64) int16_t a_wide[M * K];
   for (int i = 0; i < M * K; i += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(a_bytes + i));
      _mm256_store_si256(reinterpret_cast<__m256i *>(a_wide + i),
                         widen_bytes<Types::a_signed>(bytes));
   }
   alignas(64) __m256i b_wide[pairs][V];
   for (int p = 0; p < pairs; p++) {
      const char *rows = b_bytes + 2 * p * N;
      if constexpr (V == 2) {
         const __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(rows));
         const __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(rows + N));
         b_wide[p][0] = widen_bytes<Types::b_signed>(_mm_unpacklo_epi8(even, odd));
         b_wide[p][1] = widen_bytes<Types::b_signed>(_mm_unpackhi_epi8(even, odd));
      } else {
         const __m128i both = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(rows));
         b_wide[p][0] =
            widen_bytes<Types::b_signed>(_mm_unpacklo_epi8(both, _mm_srli_si128(both, 8)));
      }
   }

   for (int row = 0; row < M; row += R) {
      __m256i sums[R][V] = {};
#pragma GCC unroll 2
      for (int p = 0; p < pairs; p++) {
#pragma GCC unroll 16
         for (int r = 0; r < R; r++) {
            int pair;
            __builtin_memcpy(&pair, a_wide + (row + r) * K + 2 * p, 4);
            const __m256i a_pair = _mm256_set1_epi32(pair);
#pragma GCC unroll 2
            for (int v = 0; v < V; v++)
               sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(a_pair, b_wide[p][v]));
         }
      }
#pragma GCC unroll 16
      for (int r = 0; r < R; r++) {
#pragma GCC unroll 2
         for (int v = 0; v < V; v++) {
            const int at = ((row + r) * N + 8 * v) * 4;
            const __m256i c_row = _mm256_loadu_si256(
               reinterpret_cast<const __m256i_u *>(static_cast<const char *>(c) + at));
            _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(static_cast<char *>(d) + at),
                                accumulate<Types::mode>(sums[r][v], c_row));
         }
      }
   }
}

} // namespace

TileMulAdd find_tile_muladd_avx2(const MatrixOperation &op)
{
   if (TileMulAdd found = find_float_muladd(op))
      return found;
   const TileMulAdd found = with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(
         op, []<typename Shape>(Shape) -> TileMulAdd { return muladd_i8<Shape, Types>; });
   });
   return found ? found : find_widened_muladd(op);
}

} // namespace weft::cpu
