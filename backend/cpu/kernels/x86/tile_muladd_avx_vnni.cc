// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of 8-bit integers with AVX-VNNI: what tile_muladd_avx512_vnni.cc does, in 256 bits and 16
/// registers.

#include "backend/cpu/kernels/x86/tile_accumulate_avx2.h"
#include "backend/cpu/kernels/x86/tile_packing_vnni.h"

#include <immintrin.h>

namespace weft::cpu {
namespace {

/// Sums that are kept in registers at once: enough for two instructions per cycle with a latency of
/// four or five.
constexpr int accumulators = 8;

__m256i load(const char *p)
{
   return _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(p));
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

   __m256i correction[V] = {};
   if constexpr (moved) {
      for (int v = 0; v < V; v++)
         correction[v] = load(b_bytes + K * N + 32 * v);
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
               sums[r][v] = dot(sums[r][v], a_quad, load(b_bytes + (q * V + v) * 32));
         }
      }
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) {
#pragma GCC unroll 2
         for (int v = 0; v < V; v++) {
            const int at = ((row + r) * N + 8 * v) * 4;
            const __m256i c_row = _mm256_loadu_si256(
               reinterpret_cast<const __m256i_u *>(static_cast<const char *>(c) + at));
            const __m256i sum = moved ? _mm256_add_epi32(sums[r][v], correction[v]) : sums[r][v];
            _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(static_cast<char *>(d) + at),
                                accumulate<Types::mode>(sum, c_row));
         }
      }
   }
}

} // namespace

TileProduct find_tile_product_avx_vnni(const MatrixOperation &op)
{
   return with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(op, []<typename Shape>(Shape) {
         return product<VnniRows<Shape, Types::a_signed, Types::b_signed>,
                        VnniColumns<Shape, Types::a_signed, Types::b_signed>>(
            add_one_by_one<muladd_i8<Shape, Types>>);
      });
   });
}

} // namespace weft::cpu
