// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Operations without a kernel of their own, for inclusion by the files of the instruction sets.
/// Factors are packed as f32, or as integers of the sum's size, multiplied, and rounded or cut to
/// the result's type. The compiler vectorizes.

#pragma once

#include "backend/cpu/kernels/x86/tile_muladd_float.h"

namespace weft::cpu {
namespace {

template <typename To, typename From>
constexpr To bits_as(From value)
{
   return __builtin_bit_cast(To, value);
}

struct Single {
   using Storage = float;
   static float widen(float value) { return value; }
   static float narrow(float value) { return value; }
};

struct Half {
   using Storage = _Float16;
   static float widen(_Float16 value) { return float(value); }
   static _Float16 narrow(float value) { return _Float16(value); }
};

struct BFloat16 {
   using Storage = unsigned short;
   static float widen(unsigned short bits) { return bits_as<float>(unsigned(bits) << 16); }
   static unsigned short narrow(float value)
   {
      const unsigned bits = bits_as<unsigned>(value);
      const unsigned rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
      return value != value ? 0x7fc0 : (unsigned short)rounded;
   }
};

/// SPV_EXT_float8's types. Magnitudes above Special are NaN; Special is infinity unless it is Nan.
template <unsigned Mantissa, unsigned Bias, unsigned Special, unsigned Nan>
struct Float8 {
   using Storage = unsigned char;
   static constexpr unsigned shift = 23 - Mantissa, bias_difference = 127 - Bias;

   static constexpr float power_of_two(int exponent)
   {
      return bits_as<float>(unsigned(exponent + 127) << 23);
   }

   static float widen(unsigned char bits)
   {
      const unsigned magnitude = bits & 0x7f, sign = unsigned(bits & 0x80) << 24;
      const float subnormal = float(int(magnitude)) * power_of_two(1 - int(Bias) - int(Mantissa));
      unsigned value = (magnitude << shift) + (bias_difference << 23);
      value = magnitude < (1u << Mantissa) ? bits_as<unsigned>(subnormal) : value;
      value = magnitude >= Special ? 0x7f800000 : value;
      value = magnitude > Special || (magnitude == Special && Special == Nan) ? 0x7fc00000 : value;
      return bits_as<float>(value | sign);
   }

   /// Subnormals are rounded by an addition: the last bit of `ruler` is the smallest subnormal.
   static unsigned char narrow(float value)
   {
      constexpr float ruler = power_of_two(1 - int(Bias) + int(shift));
      const unsigned bits = bits_as<unsigned>(value), magnitude = bits & 0x7fffffff;
      const unsigned odd = magnitude >> shift & 1, half = (1u << (shift - 1)) - 1;
      unsigned result = ((magnitude + half + odd) >> shift) - (bias_difference << Mantissa);
      const unsigned subnormal =
         bits_as<unsigned>(bits_as<float>(magnitude) + ruler) - bits_as<unsigned>(ruler);
      result = magnitude < ((bias_difference + 1) << 23) ? subnormal : result;
      result = result > Special ? Special : result;
      result = magnitude > 0x7f800000 ? Nan : result;
      return (unsigned char)(result | (bits >> 24 & 0x80));
   }
};
using E4m3 = Float8<3, 7, 0x7f, 0x7f>;
using E5m2 = Float8<2, 15, 0x7c, 0x7e>;

template <typename Type, int Count>
void widen(float *to, const void *from)
{
   for (int i = 0; i < Count; i++) {
      typename Type::Storage value;
      __builtin_memcpy(&value, static_cast<const char *>(from) + i * sizeof(value), sizeof(value));
      to[i] = Type::widen(value);
   }
}

template <typename Type, int Count>
void narrow(void *to, const float *from)
{
   for (int i = 0; i < Count; i++) {
      const typename Type::Storage value = Type::narrow(from[i]);
      __builtin_memcpy(static_cast<char *>(to) + i * sizeof(value), &value, sizeof(value));
   }
}

template <typename Type, int Rows, int Cols>
struct Widened : Factor<Rows, Cols, sizeof(typename Type::Storage)> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      auto *to = reinterpret_cast<float *>(packed);
      for (int row = 0; row < Rows; row++)
         widen<Type, Cols>(to + row * Cols, rows + row * stride);
   }
};

template <typename Registers, typename Shape, typename C, typename D>
void muladd_widened(void *d, const void *a, const void *b, const void *c, const TileBlock *block)
{
   for_each_sum<1>(
      d, a, b, c, *block, [&](auto, char *d, const char *a, const char *b, const char *c) {
         constexpr int results = Shape::M * Shape::N;
         alignas(64) float sums[results];
         widen<C, results>(sums, c);
         const TileBlock sum = {
            .depth = block->depth, .a_step = block->a_step, .b_step = block->b_step};
         muladd<Registers, Shape, FloatDot, AddedFirst<Floats, Floats>>(sums, a, b, sums, &sum);
         narrow<D, results>(d, sums);
      });
}

/// C and the result are Narrow or f32.
template <typename Registers, typename Shape, typename A, typename B, typename Narrow>
TileProduct widened_product(const MatrixOperation &op)
{
   constexpr ComponentType f32 = ComponentType::f32;
   TileMulAdd kernel;
   if (op.c == f32)
      kernel = op.result == f32 ? muladd<Registers, Shape, FloatDot, AddedFirst<Floats, Floats>>
                                : muladd_widened<Registers, Shape, Single, Narrow>;
   else
      kernel = op.result == f32 ? muladd_widened<Registers, Shape, Narrow, Single>
                                : muladd_widened<Registers, Shape, Narrow, Narrow>;
   return product<Widened<A, Shape::M, Shape::K>, Widened<B, Shape::K, Shape::N>>(kernel);
}

template <typename Integer>
Integer add_saturating(Integer x, Integer y)
{
   constexpr bool is_signed = Integer(-1) < Integer(0);
   constexpr Integer lowest = is_signed ? Integer(1ul << (8 * sizeof(Integer) - 1)) : 0;
   Integer sum;
   if (!__builtin_add_overflow(x, y, &sum))
      return sum;
   return is_signed && x < 0 ? lowest : Integer(~lowest);
}

/// Sums are of the unsigned type Sum, in which they wrap, and are cut to Result. C is added before
/// the cut, or after it if the addition saturates.
template <typename Shape, typename Factor, typename Result, typename Sum, bool Saturating>
void muladd_integers(void *d, const void *a, const void *b, const void *c)
{
   constexpr int M = Shape::M, N = Shape::N, K = Shape::K;
   const auto load = [](auto *to, const void *from, int count, auto element) {
      for (int i = 0; i < count; i++) {
         __builtin_memcpy(&element, static_cast<const char *>(from) + i * sizeof(element),
                          sizeof(element));
         to[i] = Sum(element);
      }
   };
   alignas(64) Sum a_wide[M * K], b_wide[K * N], sums[M * N] = {};
   load(a_wide, a, M * K, Factor());
   load(b_wide, b, K * N, Factor());
   if (!Saturating)
      load(sums, c, M * N, Result());
   for (int row = 0; row < M; row++) {
      for (int k = 0; k < K; k++) {
         for (int col = 0; col < N; col++)
            sums[row * N + col] += a_wide[row * K + k] * b_wide[k * N + col];
      }
   }
   for (int i = 0; i < M * N; i++) {
      Result value = Result(sums[i]);
      if (Saturating) {
         Result addend;
         __builtin_memcpy(&addend, static_cast<const char *>(c) + i * sizeof(addend),
                          sizeof(addend));
         value = add_saturating(value, addend);
      }
      __builtin_memcpy(static_cast<char *>(d) + i * sizeof(value), &value, sizeof(value));
   }
}

template <typename Shape, typename Factor, typename Result, typename Sum = unsigned>
TileProduct integer_product(bool saturating)
{
   return product(saturating ? add_one_by_one<muladd_integers<Shape, Factor, Result, Sum, true>>
                             : add_one_by_one<muladd_integers<Shape, Factor, Result, Sum, false>>);
}

template <typename Registers, typename Shape, typename A, typename B>
TileProduct find_float8_product(const MatrixOperation &op)
{
   if constexpr (__is_same(A, B)) {
      if (op.c == op.a || op.result == op.a)
         return widened_product<Registers, Shape, A, B, A>(op);
   }
   return widened_product<Registers, Shape, A, B, Half>(op);
}

/// The types of tile_operations(), with the shapes of with_widened_shape() and
/// with_bfloat16_shape().
template <typename Registers>
TileProduct find_widened_product(const MatrixOperation &op)
{
   using enum ComponentType;
   if (op.a == bf16)
      return with_bfloat16_shape(op, [&]<typename Shape>(Shape) {
         return widened_product<Registers, Shape, BFloat16, BFloat16, BFloat16>(op);
      });
   // Wrapping sums have either sign, saturating sums the sign of their factors.
   const bool is_byte = op.c == s8 || op.c == u8, is_short = op.c == s16 || op.c == u16;
   return with_widened_shape(op, [&]<typename Shape>(Shape) -> TileProduct {
      if (op.a == e4m3)
         return op.b == e4m3 ? find_float8_product<Registers, Shape, E4m3, E4m3>(op)
                             : find_float8_product<Registers, Shape, E4m3, E5m2>(op);
      if (op.a == e5m2)
         return op.b == e4m3 ? find_float8_product<Registers, Shape, E5m2, E4m3>(op)
                             : find_float8_product<Registers, Shape, E5m2, E5m2>(op);
      switch (op.a) {
      case s8:
         return is_byte ? integer_product<Shape, signed char, signed char>(op.saturating)
                        : TileProduct();
      case u8:
         return is_byte ? integer_product<Shape, unsigned char, unsigned char>(op.saturating)
                        : TileProduct();
      case s16:
         return is_short ? integer_product<Shape, short, short>(op.saturating)
                         : integer_product<Shape, short, int>(op.saturating);
      case u16:
         return is_short ? integer_product<Shape, unsigned short, unsigned short>(op.saturating)
                         : integer_product<Shape, unsigned short, unsigned>(op.saturating);
      case s32:
         return integer_product<Shape, int, int>(op.saturating);
      case u32:
         return integer_product<Shape, unsigned, unsigned>(op.saturating);
      case s64:
         return integer_product<Shape, long, long, unsigned long>(op.saturating);
      case u64:
         return integer_product<Shape, unsigned long, unsigned long, unsigned long>(op.saturating);
      default:
         return {};
      }
   });
}

} // namespace
} // namespace weft::cpu
