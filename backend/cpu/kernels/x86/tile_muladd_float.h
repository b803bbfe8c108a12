// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Floating-point tile multiplication by FMAs, for inclusion by the files of the instruction sets.

#pragma once

#include "backend/cpu/kernels/tile_multiply.h"
#include "backend/cpu/kernels/x86/half_rows.h"
#include "backend/cpu/kernels/x86/tile_packing.h"

namespace weft::cpu {
namespace {

/// The Dot of sums of T; RowsOfB converts B.
template <typename T, template <int> typename RowsOfB>
struct Fma {
   template <int Lanes>
   struct Dot {
      using Vector = typename PlainRows<T, Lanes>::Vector;
      static constexpr int depth = 1, a_bytes = sizeof(T), b_bytes = RowsOfB<Lanes>::bytes;
      static constexpr bool converts = b_bytes != a_bytes, has_corrections = false;

      static Vector broadcast(const char *a)
      {
         T component;
         __builtin_memcpy(&component, a, sizeof(component));
         return component - Vector{};
      }
      static Vector load(const char *b) { return RowsOfB<Lanes>::load(b); }
      static Vector add(Vector sums, Vector a, Vector b) { return sums + a * b; }
   };
};
template <int Lanes>
using FloatDot = Fma<float, Floats>::Dot<Lanes>;
template <int Lanes>
using HalfDot = Fma<float, Halves>::Dot<Lanes>;
template <int Lanes>
using DoubleDot = Fma<double, Doubles>::Dot<Lanes>;

/// A as floats: components are broadcast from memory. B remains halves; a row is widened when it is
/// loaded, which costs nothing among the multiplications.
template <typename Registers, int Rows, int Cols>
struct WidenedHalves : Factor<Rows, Cols, 2> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      constexpr int L = smaller(Cols, Registers::vector_bytes / 4);
      for (int row = 0; row < Rows; row++) {
         for (int col = 0; col < Cols; col += L)
            Floats<L>::store(packed + 4 * (row * Cols + col),
                             Halves<L>::load(rows + row * stride + 2 * col));
      }
   }
};

template <typename Registers, typename Shape>
TileMulAdd find_muladd_f16(ComponentType c, ComponentType result)
{
   using enum ComponentType;
   if (c == f16)
      return result == f16 ? muladd<Registers, Shape, HalfDot, AddedFirst<Halves, Halves>>
                           : muladd<Registers, Shape, HalfDot, AddedFirst<Halves, Floats>>;
   return result == f16 ? muladd<Registers, Shape, HalfDot, AddedFirst<Floats, Halves>>
                        : muladd<Registers, Shape, HalfDot, AddedFirst<Floats, Floats>>;
}

template <typename Registers>
TileProduct find_float_product(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a != op.b || op.saturating)
      return {};
   return with_float_shape(op, [&]<typename Shape>(Shape) -> TileProduct {
      switch (op.a) {
      case f16:
         return product<WidenedHalves<Registers, Shape::M, Shape::K>,
                        Gathered<Shape::K, Shape::N, 2>>(
            find_muladd_f16<Registers, Shape>(op.c, op.result));
      case f32:
         return product(muladd<Registers, Shape, FloatDot, AddedFirst<Floats, Floats>>);
      case f64:
         return product(muladd<Registers, Shape, DoubleDot, AddedFirst<Doubles, Doubles>>);
      default:
         return {};
      }
   });
}

} // namespace
} // namespace weft::cpu
