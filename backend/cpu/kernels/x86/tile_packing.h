// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Packings of factors, for inclusion by the files of the instruction sets. A packing is a struct:
///
///     Rows, Cols, Bytes                       of the factor
///     from_rows(packed, rows, stride)         packs it from memory
///     from_columns(packed, columns, stride)   packs column-major memory; without this function it
///                                             is transposed first
///     untouched                               the kernel takes the tile as it is

#pragma once

#include "backend/cpu/kernels/tile_muladd.h"
#include "backend/cpu/kernels/x86/tile_load.h"

namespace weft::cpu {
namespace {

struct AsItIs {
   static constexpr bool untouched = true;
};

template <int Rows_, int Cols_, int Bytes_>
struct Factor {
   static constexpr int Rows = Rows_, Cols = Cols_, Bytes = Bytes_;
   static constexpr bool untouched = false;
};

/// Rows side by side.
template <int Rows, int Cols, int Bytes>
struct Gathered : Factor<Rows, Cols, Bytes> {
   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      load<Tile<TileOrder::row_major, Rows, Cols, Bytes>>(packed, rows, stride);
   }
   static void from_columns(char *packed, const char *columns, int64_t stride)
   {
      load<Tile<TileOrder::column_major, Rows, Cols, Bytes>>(packed, columns, stride);
   }
};

/// Rows of B are interleaved: components of a column become neighbours in a word.
///
///     16-bit components, two rows of B           8-bit components, four rows of B
///     b0[0] b1[0] b0[1] b1[1] …                  b0[0] b1[0] b2[0] b3[0] b0[1] …
///
/// In column-major memory they are neighbours already, and words are transposed.
template <int Rows, int Cols, int Bytes>
struct Interleaved : Factor<Rows, Cols, Bytes> {
   static constexpr int together = 4 / Bytes;

   static void from_rows(char *packed, const char *rows, int64_t stride)
   {
      for (int row = 0; row < Rows; row += together) {
         for (int col = 0; col < Cols; col += 8)
            interleave(packed + 4 * (row / together * Cols + col),
                       rows + row * stride + col * Bytes, stride);
      }
   }
   static void from_columns(char *packed, const char *columns, int64_t stride)
   {
      if constexpr (words % 8 == 0)
         load<Tile<TileOrder::column_major, words, Cols, 4>>(packed, columns, stride);
      else
         for (int col = 0; col < Cols; col += 4)
            transpose(packed + 4 * col, columns + col * stride, stride);
   }

private:
   static constexpr int words = Rows / together; ///< of a column

   /// Four short columns.
   static void transpose(char *to, const char *from, int64_t stride)
   {
      static_assert(words == 2 || words == 4 || words % 8 == 0);
      const auto column = [&](int i) {
         const auto *p = reinterpret_cast<const __m128i_u *>(from + i * stride);
         return words == 2 ? _mm_loadl_epi64(p) : _mm_loadu_si128(p);
      };
      const __m128i c0 = column(0), c1 = column(1), c2 = column(2), c3 = column(3);
      const __m128i low01 = _mm_unpacklo_epi32(c0, c1), low23 = _mm_unpacklo_epi32(c2, c3);
      const __m128i high01 = _mm_unpackhi_epi32(c0, c1), high23 = _mm_unpackhi_epi32(c2, c3);
      const __m128i rows[4] = {_mm_unpacklo_epi64(low01, low23), _mm_unpackhi_epi64(low01, low23),
                               _mm_unpacklo_epi64(high01, high23),
                               _mm_unpackhi_epi64(high01, high23)};
      for (int i = 0; i < words && i < 4; i++)
         _mm_storeu_si128(reinterpret_cast<__m128i_u *>(to + 4 * i * Cols), rows[i]);
   }

   static void interleave(char *to, const char *from, int64_t stride)
   {
      __m128i low, high;
      if constexpr (Bytes == 2) {
         const __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(from));
         const __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(from + stride));
         low = _mm_unpacklo_epi16(even, odd);
         high = _mm_unpackhi_epi16(even, odd);
      } else {
         const auto row = [&](int i) {
            return _mm_loadl_epi64(reinterpret_cast<const __m128i_u *>(from + i * stride));
         };
         const __m128i even = _mm_unpacklo_epi8(row(0), row(1)),
                       odd = _mm_unpacklo_epi8(row(2), row(3));
         low = _mm_unpacklo_epi16(even, odd);
         high = _mm_unpackhi_epi16(even, odd);
      }
      _mm_storeu_si128(reinterpret_cast<__m128i_u *>(to), low);
      _mm_storeu_si128(reinterpret_cast<__m128i_u *>(to + 16), high);
   }
};

template <typename Packing, TileOrder Order>
void pack(void *packed, const void *memory, int64_t stride)
{
   auto *to = static_cast<char *>(packed);
   const auto *from = static_cast<const char *>(memory);
   prefetch_farther_on<Tile<Order, Packing::Rows, Packing::Cols, Packing::Bytes>>(from, stride);
   if constexpr (Order == TileOrder::row_major) {
      Packing::from_rows(to, from, stride);
   } else if constexpr (requires { Packing::from_columns(to, from, stride); }) {
      Packing::from_columns(to, from, stride);
   } else {
      alignas(64) char rows[Packing::Rows * Packing::Cols * Packing::Bytes];
      load<Tile<Order, Packing::Rows, Packing::Cols, Packing::Bytes>>(rows, from, stride);
      Packing::from_rows(to, rows, Packing::Cols * Packing::Bytes);
   }
}

template <typename Packing, TileOrder Order>
void pack_robust(void *packed, const void *base, uint64_t offset, uint64_t size, int64_t stride)
{
   using Tile = Tile<Order, Packing::Rows, Packing::Cols, Packing::Bytes>;
   if (all_in_bounds<Tile>(offset, size, stride)) {
      pack<Packing, Order>(packed, static_cast<const char *>(base) + offset, stride);
      return;
   }
   alignas(64) char rows[Packing::Rows * Packing::Cols * Packing::Bytes];
   load_robust<Tile>(rows, base, offset, size, stride);
   Packing::from_rows(static_cast<char *>(packed), rows, Packing::Cols * Packing::Bytes);
}

template <typename Packing>
TilePacks packs()
{
   using enum TileOrder;
   if constexpr (Packing::untouched)
      return {};
   else
      return {{pack<Packing, row_major>, pack<Packing, column_major>},
              {pack_robust<Packing, row_major>, pack_robust<Packing, column_major>}};
}

/// A kernel, and the packings of its factors.
template <typename A = AsItIs, typename B = AsItIs>
TileProduct product(TileMulAdd muladd)
{
   return {muladd, {packs<A>(), packs<B>()}};
}

} // namespace
} // namespace weft::cpu
