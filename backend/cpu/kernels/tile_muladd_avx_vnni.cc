// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of 8-bit integers with AVX-VNNI: what tile_muladd_avx512_vnni.cc does, in 256 bits and 16
/// registers.
///
///     A: as it lies, four bytes broadcast        B: four rows interleaved, 8 columns per vector
///        a[r][4q … 4q+3]                            b[4q … 4q+3][n], b[4q … 4q+3][n+1], …

#include "backend/cpu/kernels/tile_accumulate_avx2.h"
#include "backend/cpu/kernels/tile_muladd.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// Sums that are kept in registers at once: enough for two instructions per cycle with a latency of
/// four or five.
constexpr int accumulators = 8;

__m128i load_16(const char *p)
{
   return _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(p));
}

/// Four rows of B to columns of four.
void interleave(__m256i (&to)[1], const char *b)
{
   const __m128i even = load_16(b), odd = load_16(b + 16); // rows 0 and 1, 2 and 3
   const __m128i low = _mm_unpacklo_epi8(even, _mm_srli_si128(even, 8));
   const __m128i high = _mm_unpacklo_epi8(odd, _mm_srli_si128(odd, 8));
   to[0] = _mm256_set_m128i(_mm_unpackhi_epi16(low, high), _mm_unpacklo_epi16(low, high));
}
void interleave(__m256i (&to)[2], const char *b)
{
   const __m128i r0 = load_16(b), r1 = load_16(b + 16), r2 = load_16(b + 32), r3 = load_16(b + 48);
   const __m128i left01 = _mm_unpacklo_epi8(r0, r1), left23 = _mm_unpacklo_epi8(r2, r3);
   const __m128i right01 = _mm_unpackhi_epi8(r0, r1), right23 = _mm_unpackhi_epi8(r2, r3);
   to[0] = _mm256_set_m128i(_mm_unpackhi_epi16(left01, left23), _mm_unpacklo_epi16(left01, left23));
   to[1] =
      _mm256_set_m128i(_mm_unpackhi_epi16(right01, right23), _mm_unpacklo_epi16(right01, right23));
}

template <typename Shape, typename Types>
void muladd_i8(void *d, const void *a, const void *b, const void *c)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   constexpr int V = N / 8, quads = K / 4, R = accumulators / V;
   static_assert(M % R == 0);
   constexpr bool moved = Types::a_signed == Types::b_signed;
   const auto dot = [](__m256i sum, __m256i a_quad, __m256i columns) {
      return Types::b_signed ? _mm256_dpbusd_avx_epi32(sum, a_quad, columns)
                             : _mm256_dpbusd_avx_epi32(sum, columns, a_quad);
   };
   const auto *a_bytes = static_cast<const char *>(a), *b_bytes = static_cast<const char *>(b);

   alignas(64) char a_moved[M * K];
   if constexpr (moved) {
      for (int i = 0; i < M * K; i += 16)
         _mm_store_si128(reinterpret_cast<__m128i *>(a_moved + i),
                         _mm_xor_si128(load_16(a_bytes + i), _mm_set1_epi8(char(0x80))));
      a_bytes = a_moved;
   }
   alignas(64) __m256i columns[quads][V];
   __m256i excess[V] = {};
   for (int q = 0; q < quads; q++) {
      interleave(columns[q], b_bytes + 4 * q * N);
      if constexpr (moved) {
#pragma GCC unroll 2
         for (int v = 0; v < V; v++)
            excess[v] = dot(excess[v], _mm256_set1_epi8(char(0x80)), columns[q][v]);
      }
   }

   for (int row = 0; row < M; row += R) {
      __m256i sums[R][V] = {};
#pragma GCC unroll 2
      for (int q = 0; q < quads; q++) {
#pragma GCC unroll 8
         for (int r = 0; r < R; r++) {
            int quad;
            __builtin_memcpy(&quad, a_bytes + (row + r) * K + 4 * q, 4);
            const __m256i a_quad = _mm256_set1_epi32(quad);
#pragma GCC unroll 2
            for (int v = 0; v < V; v++)
               sums[r][v] = dot(sums[r][v], a_quad, columns[q][v]);
         }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) {
#pragma GCC unroll 2
         for (int v = 0; v < V; v++) {
            const int at = ((row + r) * N + 8 * v) * 4;
            const __m256i c_row = _mm256_loadu_si256(
               reinterpret_cast<const __m256i_u *>(static_cast<const char *>(c) + at));
            const __m256i sum = moved ? _mm256_sub_epi32(sums[r][v], excess[v]) : sums[r][v];
            _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(static_cast<char *>(d) + at),
                                accumulate<Types::mode>(sum, c_row));
         }
      }
   }
}

} // namespace

TileMulAdd find_tile_muladd_avx_vnni(const MatrixOperation &op)
{
   return with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(
         op, []<typename Shape>(Shape) -> TileMulAdd { return muladd_i8<Shape, Types>; });
   });
}

} // namespace weft::cpu
