// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of bfloat16 with AVX512-BF16.
///
/// VDPBF16PS multiplies two pairs of bfloat16 and adds the products to a sum in f32, one after the other, as two FMAs
/// that round to nearest even.  MXCSR has no say: subnormal numbers count as zero where they go in, and become zero
/// where they would come out (Intel's Software Developer's Manual, volume 2, VDPBF16PS; Intel document 343431).
/// Vulkan lets any instruction flush them that its lists for DenormPreserve do not name, and OpCooperativeMatrixMulAddKHR
/// is in none of these ("Precision and Operation of SPIR-V Instructions").
///
/// The pairs run along k; a row of A gives one pair to broadcast, two rows of B are interleaved:
///
///     a[r][2p], a[r][2p+1]   ×   b[2p][0], b[2p+1][0], b[2p][1], b[2p+1][1], …

#include "backend/cpu/kernels/x86/tile_packing.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// N sums: a row of results.
template <int N>
struct Row;

template <>
struct Row<16> {
   using Vector = __m512;
   using Pairs = __m512bh;
   static Vector load(const float *p) { return _mm512_loadu_ps(p); }
   static void store(float *p, Vector v) { _mm512_storeu_ps(p, v); }
   static Vector load(const unsigned short *p)
   {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(p));
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
   }
   static void store(unsigned short *p, Vector v)
   {
      _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(p), (__m256i)_mm512_cvtneps_pbh(v));
   }
   static Pairs splat(int pair) { return (Pairs)_mm512_set1_epi32(pair); }
   static Pairs pairs(const void *b) { return (Pairs)_mm512_loadu_si512(b); }
   static Vector dot(Vector sum, Pairs a, Pairs b) { return _mm512_dpbf16_ps(sum, a, b); }
};

template <>
struct Row<8> {
   using Vector = __m256;
   using Pairs = __m256bh;
   static Vector load(const float *p) { return _mm256_loadu_ps(p); }
   static void store(float *p, Vector v) { _mm256_storeu_ps(p, v); }
   static Vector load(const unsigned short *p)
   {
      const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(p));
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
   }
   static void store(unsigned short *p, Vector v)
   {
      _mm_storeu_si128(reinterpret_cast<__m128i_u *>(p), (__m128i)_mm256_cvtneps_pbh(v));
   }
   static Pairs splat(int pair) { return (Pairs)_mm256_set1_epi32(pair); }
   static Pairs pairs(const void *b)
   {
      return (Pairs)_mm256_loadu_si256(static_cast<const __m256i_u *>(b));
   }
   static Vector dot(Vector sum, Pairs a, Pairs b) { return _mm256_dpbf16_ps(sum, a, b); }
};

/// A sum of tiles, or two side by side, which share what is broadcast of A.  C and D: float, or the bits of bfloat16.
template <typename Shape, typename C, typename D, int Tiles>
[[gnu::always_inline]] inline void add_up(char *d, const char *a, const char *b, const char *c,
                                          const TileBlock &block)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K, R = 16 / Tiles < M ? 16 / Tiles : M;
   using Row = Row<N>;
   constexpr int a_bytes_of_row = 2 * K, c_bytes_of_row = N * sizeof(C),
                 d_bytes_of_row = N * sizeof(D);
   for (int row = 0; row < M;
        row += R, a += R * a_bytes_of_row, c += R * c_bytes_of_row, d += R * d_bytes_of_row) {
      const auto place = [&](int t, int r, int bytes_of_row) {
         return t * block.d_col + r * bytes_of_row;
      };
      typename Row::Vector sums[Tiles][R];
#pragma GCC unroll 2
      for (int t = 0; t < Tiles; t++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
            sums[t][r] = Row::load(reinterpret_cast<const C *>(c + place(t, r, c_bytes_of_row)));
      const char *a_bytes = a, *b_bytes = b;
      for (uint32_t i = 0; i < block.depth; i++, a_bytes += block.a_step, b_bytes += block.b_step) {
#pragma GCC unroll 8
         for (int k = 0; k < K; k += 2) {
            typename Row::Pairs columns[Tiles];
#pragma GCC unroll 2
            for (int t = 0; t < Tiles; t++)
               columns[t] = Row::pairs(b_bytes + t * block.b_col + 2 * k * N);
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) {
               int pair;
               __builtin_memcpy(&pair, a_bytes + r * a_bytes_of_row + 2 * k, 4);
#pragma GCC unroll 2
               for (int t = 0; t < Tiles; t++)
                  // In this order the instruction itself broadcasts a pair from memory.
                  sums[t][r] = Row::dot(sums[t][r], columns[t], Row::splat(pair));
            }
         }
      }
#pragma GCC unroll 2
      for (int t = 0; t < Tiles; t++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
            Row::store(reinterpret_cast<D *>(d + place(t, r, d_bytes_of_row)), sums[t][r]);
   }
}

template <typename Shape, typename C, typename D>
void muladd_bf16(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<2>(d, a, b, c, *block,
                   [&](auto columns, char *d, const char *a, const char *b, const char *c) {
                      add_up<Shape, C, D, columns.count>(d, a, b, c, *block);
                   });
}

template <typename Shape>
TileMulAdd find_muladd(ComponentType c, ComponentType result)
{
   using enum ComponentType;
   if (c == bf16)
      return result == bf16 ? muladd_bf16<Shape, unsigned short, unsigned short>
                            : muladd_bf16<Shape, unsigned short, float>;
   return result == bf16 ? muladd_bf16<Shape, float, unsigned short>
                         : muladd_bf16<Shape, float, float>;
}

} // namespace

TileProduct find_tile_product_avx512_bf16(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a != bf16 || op.b != bf16)
      return {};
   return with_widened_shape(op, [&]<typename Shape>(Shape) {
      return product<Gathered<Shape::M, Shape::K, 2>, Interleaved<Shape::K, Shape::N, 2>>(
         find_muladd<Shape>(op.c, op.result));
   });
}

} // namespace weft::cpu
