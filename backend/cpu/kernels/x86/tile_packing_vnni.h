// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Factors of bytes as VPDPBUSD wants them: see tile_muladd_avx512_vnni.cc.

#pragma once

#include "backend/cpu/kernels/x86/tile_packing.h"

namespace weft::cpu {
namespace {

/// A, into the other signedness if B has its own.
template <typename Shape, bool ASigned, bool BSigned>
struct VnniRows : Gathered<Shape::M, Shape::K, 1> {
   using Plain = Gathered<Shape::M, Shape::K, 1>;
   static constexpr unsigned char moved = ASigned == BSigned ? 0x80 : 0;
   typedef unsigned char Row __attribute__((vector_size(Shape::K)));

   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
#pragma GCC unroll 8
      for (int r = 0; r < Shape::M; r++) {
         Row row;
         __builtin_memcpy(&row, rows + r * stride, sizeof(row));
         row ^= moved;
         __builtin_memcpy(packed + r * Shape::K, &row, sizeof(row));
      }
   }
   static void from_columns(char *packed, const char *columns, int64_t stride)
   {
      Plain::from_columns(packed, columns, stride);
      from_rows(packed, packed, Shape::K);
   }
};

/// B, interleaved, and what takes back from the sums of each column that A is moved.
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
            // Moved from signed, they are more by 128; from unsigned, less.
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

} // namespace
} // namespace weft::cpu
