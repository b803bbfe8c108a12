// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Between the table of tile operations and the files with the multiplications, one per instruction
/// set, each compiled with that set's flags.  Those files keep to plain arrays and vectors: an
/// inline function of the standard library, compiled with their flags, could be the copy that the
/// linker keeps for everybody.

#pragma once

#include "backend/cpu/kernels/tile_kernels.h"

namespace weft::cpu {

/// How memory of either order becomes what a kernel takes in place of one of its factors; null if it takes the
/// tile.
struct TilePacks {
   TileLoad plain[2];
   TileLoadRobust robust[2];
};

/// The kernel of an operation, and what packs its factors.
struct TileProduct {
   TileMulAdd muladd = nullptr;
   TilePacks packs[2] = {};
   explicit operator bool() const { return muladd; }
};

/// Everything in tile_operations().
TileProduct find_tile_product_avx2(const MatrixOperation &);
/// All but those of 8-bit factors and 32-bit sums, for which none.
TileProduct find_tile_product_avx512(const MatrixOperation &);
/// Those of 8-bit factors and 32-bit sums, else none.
TileProduct find_tile_product_avx_vnni(const MatrixOperation &);
TileProduct find_tile_product_avx512_vnni(const MatrixOperation &);
/// Those of bfloat16, else none.
TileProduct find_tile_product_avx512_bf16(const MatrixOperation &);
/// Of both, those that it is faster for, else none.  They run within a TileConfiguration.
TileProduct find_tile_product_amx(const MatrixOperation &);

template <int M_, int N_, int K_>
struct TileShape {
   static constexpr int M = M_, N = N_, K = K_;
};

/// Calls use(TileShape<M, N, K>) for the operation's shape if it is one that floating-point types
/// have.
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

/// The same for types without kernels of their own, which have fewer.
template <typename Use>
inline TileProduct with_widened_shape(const MatrixOperation &op, Use use)
{
   if (op.m == 16 && op.n == 16 && op.k == 16)
      return use(TileShape<16, 16, 16>());
   if (op.m == 8 && op.n == 8 && op.k == 8)
      return use(TileShape<8, 8, 8>());
   return {};
}

/// The same for 8-bit integers, which have more.
template <typename Use>
inline TileProduct with_integer_shape(const MatrixOperation &op, Use use)
{
   const auto is = [&](uint32_t m, uint32_t n, uint32_t k) {
      return op.m == m && op.n == n && op.k == k;
   };
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

/// Calls use(IntegerTypes<...>) for the operation's types if they are 8-bit integers and 32-bit
/// results.
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
