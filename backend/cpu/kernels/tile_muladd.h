// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The interface between the table of tile operations and the multiplications in the folder of the
/// CPU family.
///
/// Files of an instruction set are compiled with its flags and use plain arrays and vectors only.
/// The linker could keep an inline function of the standard library, compiled with these flags, for
/// the whole program.

#pragma once

#include "backend/cpu/kernels/tile_kernels.h"

namespace weft::cpu {

/// Functions that pack a factor for a kernel, by TileOrder; null if the kernel takes the tile.
struct TilePacks {
   TileLoad plain[2];
   TileLoadRobust robust[2];
};

/// The kernel of an operation, and the functions that pack its factors.
struct TileProduct {
   TileMulAdd muladd = nullptr;
   TilePacks packs[2] = {};
   explicit operator bool() const { return muladd; }
};

/// The best kernel on this CPU for an operation of tile_operations() (x86/find_kernels.cc).
TileProduct find_tile_product(const MatrixOperation &, const CpuFeatures &);
/// Whether this kernel runs only within a TileConfiguration.
bool product_needs_configuration(const MatrixOperation &, const CpuFeatures &);

template <int M_, int N_, int K_>
struct TileShape {
   static constexpr int M = M_, N = N_, K = K_;
};

/// Calls use(TileShape<M, N, K>) if floating-point types have the operation's shape.
template <typename Use>
inline TileProduct with_float_shape(const MatrixOperation &op, Use use)
{
   const auto is = [&](uint32_t m, uint32_t n, uint32_t k) {
      return op.m == m && op.n == n && op.k == k;
   };
   if (is(16, 16, 16))
      return use(TileShape<16, 16, 16>());
   if (is(8, 8, 8))
      return use(TileShape<8, 8, 8>());
   if (is(16, 8, 16))
      return use(TileShape<16, 8, 16>());
   if (is(16, 8, 8))
      return use(TileShape<16, 8, 8>());
   if (is(8, 16, 16))
      return use(TileShape<8, 16, 16>());
   return {};
}

/// The same for types without kernels of their own, which have fewer shapes.
template <typename Use>
inline TileProduct with_widened_shape(const MatrixOperation &op, Use use)
{
   if (op.m == 16 && op.n == 16 && op.k == 16)
      return use(TileShape<16, 16, 16>());
   if (op.m == 8 && op.n == 8 && op.k == 8)
      return use(TileShape<8, 8, 8>());
   return {};
}

/// The same for bfloat16.
template <typename Use>
inline TileProduct with_bfloat16_shape(const MatrixOperation &op, Use use)
{
   if (op.m == 16 && op.n == 16 && op.k == 32)
      return use(TileShape<16, 16, 32>());
   return with_widened_shape(op, use);
}

/// The same for 8-bit integers, which have more shapes.
template <typename Use>
inline TileProduct with_integer_shape(const MatrixOperation &op, Use use)
{
   const auto is = [&](uint32_t m, uint32_t n, uint32_t k) {
      return op.m == m && op.n == n && op.k == k;
   };
   if (is(16, 16, 64))
      return use(TileShape<16, 16, 64>());
   if (is(16, 16, 32))
      return use(TileShape<16, 16, 32>());
   if (is(16, 8, 32))
      return use(TileShape<16, 8, 32>());
   if (is(8, 16, 32))
      return use(TileShape<8, 16, 32>());
   return with_float_shape(op, use);
}

/// How the sum of products is added to C.
enum class Accumulation { wrapping, saturating_signed, saturating_unsigned };

template <bool ASigned, bool BSigned, Accumulation Mode>
struct IntegerTypes {
   static constexpr bool a_signed = ASigned, b_signed = BSigned;
   static constexpr Accumulation mode = Mode;
};

/// Calls use(IntegerTypes<…>) if the operation has 8-bit integers and 32-bit results.
template <typename Use>
inline TileProduct with_integer_types(const MatrixOperation &op, Use use)
{
   using enum ComponentType;
   using enum Accumulation;
   const bool a_signed = op.a == s8, b_signed = op.b == s8;
   if ((!a_signed && op.a != u8) || (!b_signed && op.b != u8) || op.c != op.result)
      return {};
   if (op.c != s32 && op.c != u32)
      return {};
   if (op.saturating && op.c == u32)
      return a_signed || b_signed ? TileProduct()
                                  : use(IntegerTypes<false, false, saturating_unsigned>());
   if (op.saturating) {
      if (a_signed)
         return b_signed ? use(IntegerTypes<true, true, saturating_signed>())
                         : use(IntegerTypes<true, false, saturating_signed>());
      return b_signed ? use(IntegerTypes<false, true, saturating_signed>())
                      : use(IntegerTypes<false, false, saturating_signed>());
   }
   if (a_signed)
      return b_signed ? use(IntegerTypes<true, true, wrapping>())
                      : use(IntegerTypes<true, false, wrapping>());
   return b_signed ? use(IntegerTypes<false, true, wrapping>())
                   : use(IntegerTypes<false, false, wrapping>());
}

} // namespace weft::cpu
