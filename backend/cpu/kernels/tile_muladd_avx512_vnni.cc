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
/// That changes every sum of a column by 128 times the sum of B's column, which packed B has behind its last row:
///
///     signed A, signed B:       Σ (a+128)·b − Σ 128·b         (a+128 unsigned)
///     unsigned A, unsigned B:   Σ b·(a−128) − Σ b·(−128)      (a−128 signed)

#include "backend/cpu/kernels/tile_packing_vnni.h"

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
   static Vector subtract(Vector a, Vector b) { return _mm512_sub_epi32(a, b); }

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
   static Vector subtract(Vector a, Vector b) { return _mm256_sub_epi32(a, b); }

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

template <typename Shape, typename Types>
void muladd_i8(void *d, const void *a, const void *b, const void *c, uint32_t count,
               uint64_t a_step, uint64_t b_step)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   using Row = Row<N>;
   using Vector = typename Row::Vector;
   constexpr bool moved = Types::a_signed == Types::b_signed;
   constexpr bool wraps = Types::mode == Accumulation::wrapping;
   const auto *a_bytes = static_cast<const char *>(a), *b_bytes = static_cast<const char *>(b);
   const auto *c_bytes = static_cast<const char *>(c);

   Vector sums[M];
#pragma GCC unroll 16
   for (int r = 0; r < M; r++)
      sums[r] = wraps ? Row::load(c_bytes + r * N * 4) : Row::zero();
   for (uint32_t i = 0; i < count; i++, a_bytes += a_step, b_bytes += b_step) {
      if constexpr (moved) {
         const Vector excess = Row::load(b_bytes + K * N);
#pragma GCC unroll 16
         for (int r = 0; r < M; r++)
            sums[r] = Row::subtract(sums[r], excess);
      }
#pragma GCC unroll 8
      for (int k = 0; k < K; k += 4) {
         const Vector columns = Row::load(b_bytes + k * N);
#pragma GCC unroll 16
         for (int r = 0; r < M; r++) {
            int quad;
            __builtin_memcpy(&quad, a_bytes + r * K + k, 4);
            sums[r] = Types::b_signed ? Row::dot(sums[r], Row::splat(quad), columns)
                                      : Row::dot(sums[r], columns, Row::splat(quad));
         }
      }
   }

#pragma GCC unroll 16
   for (int r = 0; r < M; r++) {
      Vector result = sums[r];
      if constexpr (Types::mode == Accumulation::saturating_signed)
         result = Row::add_saturating_signed(result, Row::load(c_bytes + r * N * 4));
      else if constexpr (Types::mode == Accumulation::saturating_unsigned)
         result = Row::add_saturating_unsigned(result, Row::load(c_bytes + r * N * 4));
      Row::store(static_cast<char *>(d) + r * N * 4, result);
   }
}

} // namespace

TileProduct find_tile_product_avx512_vnni(const MatrixOperation &op)
{
   return with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(op, []<typename Shape>(Shape) {
         return product<VnniRows<Shape, Types::a_signed, Types::b_signed>,
                        VnniColumns<Shape, Types::a_signed, Types::b_signed>>(
            sum_of_integers<Types::mode, muladd_i8<Shape, Types>>());
      });
   });
}

} // namespace weft::cpu
