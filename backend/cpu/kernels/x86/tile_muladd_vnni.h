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

/// B, interleaved, and the corrections of the columns for the bias. Products is the instruction for
/// `Lanes` sums: multiply(sums, unsigned bytes, signed bytes).
template <typename Shape, bool ASigned, bool BSigned, template <int> typename Products>
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
         // Loads of more lanes would wait for several stores of the interleaving. Four sums hide
         // the latency of the instruction.
         constexpr int L = 8;
         using Vector = typename Words<L>::Vector;
         const Vector ones = 0x01010101 - Vector{};
         for (int col = 0; col < Shape::N; col += L) {
            Vector sums[4] = {};
#pragma GCC unroll 16
            for (int row = 0; row < Shape::K; row += 4) {
               const Vector fours = Words<L>::load(packed + row * Shape::N + 4 * col);
               Vector &sum = sums[row / 4 % 4];
               sum = BSigned ? Products<L>::multiply(sum, ones, fours)
                             : Products<L>::multiply(sum, fours, ones);
            }
            // Biased from signed, A is more by 128; from unsigned, less.
            Words<L>::store(packed + Shape::K * Shape::N + 4 * col,
                            (sums[0] + sums[1] + sums[2] + sums[3]) * (BSigned ? -128 : 128));
         }
      }
   }
};

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
                        VnniColumns<Shape, Types::a_signed, Types::b_signed, Products>>(
            muladd_words<Registers, Shape, Vnni<Types, Products>::template Dot, Types::mode>());
      });
   });
}

} // namespace
} // namespace weft::cpu
