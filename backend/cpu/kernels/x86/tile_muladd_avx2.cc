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

#include "backend/cpu/kernels/x86/tile_accumulate_avx2.h"
#include "backend/cpu/kernels/x86/tile_muladd_float.h"
#include "backend/cpu/kernels/x86/tile_muladd_widened.h"

namespace weft::cpu {
namespace {

template <bool Signed>
__m256i widen_bytes(__m128i bytes)
{
   return Signed ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes);
}

/// 8 or 16 bytes; what is beyond is zero.
template <int Count>
__m128i load_bytes(const char *p)
{
   const auto *from = reinterpret_cast<const __m128i_u *>(p);
   return Count == 8 ? _mm_loadl_epi64(from) : _mm_loadu_si128(from);
}

/// Bytes as 16-bit integers.
template <int Rows, int Cols, bool Signed>
struct WidenedBytes : Factor<Rows, Cols, 1> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      constexpr int step = smaller(Cols, 16);
      for (int row = 0; row < Rows; row++) {
         for (int col = 0; col < Cols; col += step) {
            const __m256i wide = widen_bytes<Signed>(load_bytes<step>(rows + row * stride + col));
            __builtin_memcpy(packed + 2 * (row * Cols + col), &wide, 2 * step);
         }
      }
   }
};

/// Pairs of rows interleaved, as 16-bit integers.
template <int Rows, int Cols, bool Signed>
struct WidenedPairs : Factor<Rows, Cols, 1> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      auto *to = reinterpret_cast<__m256i *>(packed);
      for (int row = 0; row < Rows; row += 2) {
         const __m128i even = load_bytes<Cols>(rows + row * stride);
         const __m128i odd = load_bytes<Cols>(rows + (row + 1) * stride);
         _mm256_storeu_si256(to++, widen_bytes<Signed>(_mm_unpacklo_epi8(even, odd)));
         if constexpr (Cols == 16)
            _mm256_storeu_si256(to++, widen_bytes<Signed>(_mm_unpackhi_epi8(even, odd)));
      }
   }
};

/// Bytes become 16-bit integers, of which VPMADDWD multiplies pairs along k and adds the two products: always
/// exact.  (VPMADDUBSW on the bytes themselves would saturate at 16 bits.)
///
///     A: one pair broadcast            B: pairs of rows interleaved, 8 columns per vector
///        a[r][2p], a[r][2p+1]             b[2p][n], b[2p+1][n], b[2p][n+1], b[2p+1][n+1], …
template <typename Shape, typename Types>
void muladd_i8(void *d, const void *a, const void *b, const void *c)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   constexpr int V = N / 8, pairs = K / 2, R = accumulators / V;
   static_assert(M % R == 0);
   const auto *a_wide = static_cast<const int16_t *>(a);
   const auto *b_wide = static_cast<const __m256i_u *>(b);

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
               sums[r][v] = _mm256_add_epi32(
                  sums[r][v], _mm256_madd_epi16(a_pair, _mm256_loadu_si256(b_wide + p * V + v)));
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

TileProduct find_tile_product_avx2(const MatrixOperation &op)
{
   if (const TileProduct found = find_float_product(op))
      return found;
   const TileProduct found = with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(op, []<typename Shape>(Shape) {
         return product<WidenedBytes<Shape::M, Shape::K, Types::a_signed>,
                        WidenedPairs<Shape::K, Shape::N, Types::b_signed>>(
            add_one_by_one<muladd_i8<Shape, Types>>);
      });
   });
   return found ? found : find_widened_product(op);
}

} // namespace weft::cpu
