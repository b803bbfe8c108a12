// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of 8-bit integers with AVX-512 VNNI.
///
/// VPDPBUSD multiplies four unsigned by four signed bytes and adds the products, exactly, to a 32-bit sum.  The four run
/// along k; a row of A gives four bytes to broadcast, four rows of B are interleaved:
///
///     a[r][4q … 4q+3]   ×   b[4q … 4q+3][0], b[4q … 4q+3][1], …
///
/// When A and B have the same signedness, A is moved by 128 into the other's range (an exclusive or of the sign bit).
/// That changes every sum of a column by 128 times the sum of B's column, which packed B has, to be added, behind its last
/// row:
///
///     signed A, signed B:       Σ (a+128)·b + Σ −128·b        (a+128 unsigned)
///     unsigned A, unsigned B:   Σ b·(a−128) + Σ 128·b         (a−128 signed)

#include "backend/cpu/kernels/x86/tile_packing_vnni.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// N 32-bit integers: a row of results.
template <int N>
struct Row;

template <>
struct Row<16> {
   using Vector = __m512i;
   static Vector zero() { return _mm512_setzero_si512(); }
   static Vector splat(int x) { return _mm512_set1_epi32(x); }
   static Vector load(const void *p) { return _mm512_loadu_si512(p); }
   static void store(void *p, Vector v) { _mm512_storeu_si512(p, v); }
   static Vector dot(Vector sum, Vector u, Vector s) { return _mm512_dpbusd_epi32(sum, u, s); }
   static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }

   static Vector add_saturating_signed(Vector a, Vector b)
   {
      const Vector wrapped = add(a, b);
      // Overflow: the result's sign is neither's (a ternary logic of (a ^ r) & (b ^ r)).
      const __mmask16 overflow =
         _mm512_movepi32_mask(_mm512_ternarylogic_epi32(a, b, wrapped, 0x42));
      const Vector limit = _mm512_xor_si512(_mm512_srai_epi32(a, 31), splat(0x7fffffff));
      return _mm512_mask_mov_epi32(wrapped, overflow, limit);
   }
   static Vector add_saturating_unsigned(Vector a, Vector b)
   {
      const Vector wrapped = add(a, b);
      return _mm512_mask_mov_epi32(wrapped, _mm512_cmplt_epu32_mask(wrapped, a), splat(-1));
   }
};

template <>
struct Row<8> {
   using Vector = __m256i;
   static Vector zero() { return _mm256_setzero_si256(); }
   static Vector splat(int x) { return _mm256_set1_epi32(x); }
   static Vector load(const void *p)
   {
      return _mm256_loadu_si256(static_cast<const __m256i_u *>(p));
   }
   static void store(void *p, Vector v) { _mm256_storeu_si256(static_cast<__m256i_u *>(p), v); }
   static Vector dot(Vector sum, Vector u, Vector s) { return _mm256_dpbusd_epi32(sum, u, s); }
   static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }

   static Vector add_saturating_signed(Vector a, Vector b)
   {
      const Vector wrapped = add(a, b);
      const __mmask8 overflow =
         _mm256_movepi32_mask(_mm256_ternarylogic_epi32(a, b, wrapped, 0x42));
      const Vector limit = _mm256_xor_si256(_mm256_srai_epi32(a, 31), splat(0x7fffffff));
      return _mm256_mask_mov_epi32(wrapped, overflow, limit);
   }
   static Vector add_saturating_unsigned(Vector a, Vector b)
   {
      const Vector wrapped = add(a, b);
      return _mm256_mask_mov_epi32(wrapped, _mm256_cmplt_epu32_mask(wrapped, a), splat(-1));
   }
};

/// A sum of tiles, or two side by side, which share what is broadcast of A.
template <typename Shape, typename Types, int Tiles>
[[gnu::always_inline]] inline void add_up(char *d, const char *a, const char *b, const char *c,
                                          const TileBlock &block)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K, R = 16 / Tiles < M ? 16 / Tiles : M;
   using Row = Row<N>;
   using Vector = typename Row::Vector;
   constexpr bool moved = Types::a_signed == Types::b_signed;
   constexpr bool wraps = Types::mode == Accumulation::wrapping;

   Vector correction[Tiles];
#pragma GCC unroll 2
   for (int t = 0; t < Tiles; t++) {
      correction[t] = Row::zero();
      for (uint32_t i = 0; moved && i < block.depth; i++)
         correction[t] =
            Row::add(correction[t], Row::load(b + i * block.b_step + t * block.b_col + K * N));
   }
   for (int row = 0; row < M; row += R, a += R * K, c += R * N * 4, d += R * N * 4) {
      const auto result = [&](auto *tiles, int t, int r) {
         return tiles + t * block.d_col + r * N * 4;
      };
      Vector sums[Tiles][R];
#pragma GCC unroll 2
      for (int t = 0; t < Tiles; t++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++)
            sums[t][r] =
               wraps ? Row::add(correction[t], Row::load(result(c, t, r))) : correction[t];
      const char *a_bytes = a, *b_bytes = b;
      for (uint32_t i = 0; i < block.depth; i++, a_bytes += block.a_step, b_bytes += block.b_step) {
#pragma GCC unroll 8
         for (int k = 0; k < K; k += 4) {
            Vector columns[Tiles];
#pragma GCC unroll 2
            for (int t = 0; t < Tiles; t++)
               columns[t] = Row::load(b_bytes + t * block.b_col + k * N);
#pragma GCC unroll 16
            for (int r = 0; r < R; r++) {
               int quad;
               __builtin_memcpy(&quad, a_bytes + r * K + k, 4);
               const Vector quads = Row::splat(quad);
#pragma GCC unroll 2
               for (int t = 0; t < Tiles; t++)
                  sums[t][r] = Types::b_signed ? Row::dot(sums[t][r], quads, columns[t])
                                               : Row::dot(sums[t][r], columns[t], quads);
            }
         }
      }
#pragma GCC unroll 2
      for (int t = 0; t < Tiles; t++)
#pragma GCC unroll 16
         for (int r = 0; r < R; r++) {
            Vector sum = sums[t][r];
            if constexpr (Types::mode == Accumulation::saturating_signed)
               sum = Row::add_saturating_signed(sum, Row::load(result(c, t, r)));
            else if constexpr (Types::mode == Accumulation::saturating_unsigned)
               sum = Row::add_saturating_unsigned(sum, Row::load(result(c, t, r)));
            Row::store(result(d, t, r), sum);
         }
   }
}

template <typename Shape, typename Types>
void muladd_i8(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<2>(d, a, b, c, *block,
                   [&](auto columns, char *d, const char *a, const char *b, const char *c) {
                      add_up<Shape, Types, columns.count>(d, a, b, c, *block);
                   });
}

} // namespace

TileProduct find_tile_product_avx512_vnni(const MatrixOperation &op)
{
   return with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(op, []<typename Shape>(Shape) {
         return product<VnniRows<Shape, Types::a_signed, Types::b_signed>,
                        VnniColumns<Shape, Types::a_signed, Types::b_signed>>(
            sums_of_integers<Types::mode, muladd_i8<Shape, Types>>());
      });
   });
}

} // namespace weft::cpu
