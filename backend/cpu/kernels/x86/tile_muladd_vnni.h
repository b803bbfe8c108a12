// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile multiplication of 8-bit integers with VPDPBUSD, for inclusion by the files of AVX-VNNI and
/// AVX512-VNNI.
///
/// The instruction multiplies four unsigned by four signed bytes and adds the products, exactly, to
/// a 32-bit sum. The four run along k. A row of A gives four bytes to broadcast, four rows of B are
/// interleaved:
///
///     a[r][4q … 4q+3]   ×   b[4q … 4q+3][0], b[4q … 4q+3][1], …
///
/// If A and B have the same signedness, A is biased by 128 into the other's range (an exclusive or
/// of the sign bit). The bias changes each sum of a column by 128 times the sum of B's column.
/// Packed B has the correction behind its last row:
///
///     signed A, signed B:       Σ (a+128)·b + Σ −128·b        (a+128 unsigned)
///     unsigned A, unsigned B:   Σ b·(a−128) + Σ 128·b         (a−128 signed)

#pragma once

#include "backend/cpu/kernels/tile_multiply.h"
#include "backend/cpu/kernels/x86/tile_packing.h"

namespace weft::cpu {
namespace {

/// A, biased if B has the same signedness.
template <typename Shape, bool ASigned, bool BSigned>
struct VnniRows : Gathered<Shape::M, Shape::K, 1> {
   using Plain = Gathered<Shape::M, Shape::K, 1>;
   static constexpr unsigned char bias = ASigned == BSigned ? 0x80 : 0;
   typedef unsigned char Row __attribute__((vector_size(Shape::K)));

   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
#pragma GCC unroll 8
      for (int r = 0; r < Shape::M; r++) {
         Row row;
         __builtin_memcpy(&row, rows + r * stride, sizeof(row));
         row ^= bias;
         __builtin_memcpy(packed + r * Shape::K, &row, sizeof(row));
      }
   }
   static void from_columns(char *packed, const char *columns, int64_t stride)
   {
      Plain::from_columns(packed, columns, stride);
      from_rows(packed, packed, Shape::K);
   }
};

/// B, interleaved, and the corrections of the columns for the bias.
template <typename Shape, bool ASigned, bool BSigned>
struct VnniColumns : Interleaved<Shape::K, Shape::N, 1> {
   using Plain = Interleaved<Shape::K, Shape::N, 1>;

   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      Plain::from_rows(packed, rows, stride);
      add_correction(packed);
   }
   static void from_columns(char *packed, const char *columns, int64_t stride)
   {
      Plain::from_columns(packed, columns, stride);
      add_correction(packed);
   }

private:
   static void add_correction(char *packed)
   {
      if constexpr (ASigned == BSigned) {
         for (int col = 0; col < Shape::N; col += 8) {
            __m256i sums = _mm256_setzero_si256();
            for (int row = 0; row < Shape::K; row += 4) {
               const auto *fours =
                  reinterpret_cast<const __m256i_u *>(packed + row * Shape::N + 4 * col);
               sums = _mm256_add_epi32(sums, sums_of_fours(_mm256_loadu_si256(fours)));
            }
            // Biased from signed, A is more by 128; from unsigned, less.
            const __m256i correction = BSigned ? _mm256_sub_epi32(__m256i(), sums) : sums;
            _mm256_storeu_si256(
               reinterpret_cast<__m256i_u *>(packed + Shape::K * Shape::N + 4 * col),
               _mm256_slli_epi32(correction, 7));
         }
      }
   }

   static __m256i sums_of_fours(__m256i fours)
   {
      const __m256i ones = _mm256_set1_epi8(1);
      const __m256i pairs =
         BSigned ? _mm256_maddubs_epi16(ones, fours) : _mm256_maddubs_epi16(fours, ones);
      return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
   }
};

/// Products is the instruction for `Lanes` sums: multiply(sums, unsigned bytes, signed bytes).
template <typename Types, template <int> typename Products>
struct Vnni {
   template <int Lanes>
   struct Dot {
      using Vector = typename Words<Lanes>::Vector;
      static constexpr int depth = 4, a_bytes = 4, b_bytes = 4;
      static constexpr bool converts = false, has_corrections = Types::a_signed == Types::b_signed;

      static Vector broadcast(const char *a)
      {
         int quad;
         __builtin_memcpy(&quad, a, sizeof(quad));
         return quad - Vector{};
      }
      static Vector load(const char *b) { return Words<Lanes>::load(b); }
      static Vector add(Vector sums, Vector a, Vector b)
      {
         return Types::b_signed ? Products<Lanes>::multiply(sums, a, b)
                                : Products<Lanes>::multiply(sums, b, a);
      }
   };
};

template <typename Registers, template <int> typename Products>
TileProduct find_vnni_product(const MatrixOperation &op)
{
   return with_integer_types(op, [&]<typename Types>(Types) {
      return with_integer_shape(op, []<typename Shape>(Shape) {
         return product<VnniRows<Shape, Types::a_signed, Types::b_signed>,
                        VnniColumns<Shape, Types::a_signed, Types::b_signed>>(
            muladd_words<Registers, Shape, Vnni<Types, Products>::template Dot, Types::mode>());
      });
   });
}

} // namespace
} // namespace weft::cpu
