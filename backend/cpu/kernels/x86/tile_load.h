// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile loads, with AVX2. In memory a tile consists of lines: rows, or columns if column major. A
/// row-major tile is copied line by line, a column-major one is transposed in registers, square by
/// square.

#pragma once

#include "backend/cpu/kernels/tile_kernels.h"

#include <immintrin.h>

#include <type_traits>

namespace weft::cpu {
namespace {

/// Transposes size × size components of `Bytes` each; strides are in bytes.
template <int Bytes>
struct Square;

template <>
struct Square<1> {
   static constexpr int size = 8;

   static void transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride)
   {
      __m128i r[8];
      for (int i = 0; i < 8; i++)
         r[i] = _mm_loadl_epi64(reinterpret_cast<const __m128i_u *>(from + i * from_stride));
      __m128i pairs[4];
      for (int i = 0; i < 4; i++)
         pairs[i] = _mm_unpacklo_epi8(r[2 * i], r[2 * i + 1]);
      const __m128i low = _mm_unpacklo_epi16(pairs[0], pairs[1]);
      const __m128i low2 = _mm_unpackhi_epi16(pairs[0], pairs[1]);
      const __m128i high = _mm_unpacklo_epi16(pairs[2], pairs[3]);
      const __m128i high2 = _mm_unpackhi_epi16(pairs[2], pairs[3]);
      const __m128i lines[4] = {_mm_unpacklo_epi32(low, high), _mm_unpackhi_epi32(low, high),
                                _mm_unpacklo_epi32(low2, high2), _mm_unpackhi_epi32(low2, high2)};
      for (int i = 0; i < 4; i++) {
         _mm_storel_epi64(reinterpret_cast<__m128i_u *>(to + 2 * i * to_stride), lines[i]);
         _mm_storel_epi64(reinterpret_cast<__m128i_u *>(to + (2 * i + 1) * to_stride),
                          _mm_unpackhi_epi64(lines[i], lines[i]));
      }
   }
};

template <>
struct Square<2> {
   static constexpr int size = 8;

   static void transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride)
   {
      __m128i r[8], s[8];
      for (int i = 0; i < 8; i++)
         r[i] = _mm_loadu_si128(reinterpret_cast<const __m128i_u *>(from + i * from_stride));
      for (int i = 0; i < 4; i++) {
         s[2 * i] = _mm_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
         s[2 * i + 1] = _mm_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
      }
      for (int i = 0; i < 2; i++) {
         r[4 * i] = _mm_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
         r[4 * i + 1] = _mm_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
         r[4 * i + 2] = _mm_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
         r[4 * i + 3] = _mm_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
      }
      for (int i = 0; i < 4; i++) {
         _mm_storeu_si128(reinterpret_cast<__m128i_u *>(to + 2 * i * to_stride),
                          _mm_unpacklo_epi64(r[i], r[i + 4]));
         _mm_storeu_si128(reinterpret_cast<__m128i_u *>(to + (2 * i + 1) * to_stride),
                          _mm_unpackhi_epi64(r[i], r[i + 4]));
      }
   }
};

/// 16 × 16 components of 2 bytes. Each line is read once: at strides of a power of two the
/// first-level cache holds half of the lines.
struct LargeSquare {
   static constexpr int size = 16;

   static void transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride)
   {
      __m256i left[8], right[8]; // two lines, 8 components of each
      for (int i = 0; i < 8; i++) {
         const char *line = from + i * from_stride;
         const __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(line)),
                       lower = _mm256_loadu_si256(
                          reinterpret_cast<const __m256i_u *>(line + 8 * from_stride));
         left[i] = _mm256_permute2x128_si256(upper, lower, 0x20);
         right[i] = _mm256_permute2x128_si256(upper, lower, 0x31);
      }
      transpose(to, to_stride, left);
      transpose(to + 8 * to_stride, to_stride, right);
   }

private:
   [[gnu::always_inline]] static void transpose(char *to, int64_t to_stride, __m256i (&r)[8])
   {
      __m256i s[8];
      for (int i = 0; i < 4; i++) {
         s[2 * i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
         s[2 * i + 1] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
      }
      for (int i = 0; i < 2; i++) {
         r[4 * i] = _mm256_unpacklo_epi32(s[4 * i], s[4 * i + 2]);
         r[4 * i + 1] = _mm256_unpackhi_epi32(s[4 * i], s[4 * i + 2]);
         r[4 * i + 2] = _mm256_unpacklo_epi32(s[4 * i + 1], s[4 * i + 3]);
         r[4 * i + 3] = _mm256_unpackhi_epi32(s[4 * i + 1], s[4 * i + 3]);
      }
      for (int i = 0; i < 4; i++) {
         _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(to + 2 * i * to_stride),
                             _mm256_unpacklo_epi64(r[i], r[i + 4]));
         _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(to + (2 * i + 1) * to_stride),
                             _mm256_unpackhi_epi64(r[i], r[i + 4]));
      }
   }
};

template <>
struct Square<4> {
   static constexpr int size = 8;

   static void transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride)
   {
      __m256 r[8], s[8];
      for (int i = 0; i < 8; i++)
         r[i] = _mm256_loadu_ps(reinterpret_cast<const float *>(from + i * from_stride));
      for (int i = 0; i < 4; i++) {
         s[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
         s[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
      }
      for (int i = 0; i < 2; i++) {
         r[4 * i] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0x44);
         r[4 * i + 1] = _mm256_shuffle_ps(s[4 * i], s[4 * i + 2], 0xee);
         r[4 * i + 2] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0x44);
         r[4 * i + 3] = _mm256_shuffle_ps(s[4 * i + 1], s[4 * i + 3], 0xee);
      }
      for (int i = 0; i < 4; i++) {
         _mm256_storeu_ps(reinterpret_cast<float *>(to + i * to_stride),
                          _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
         _mm256_storeu_ps(reinterpret_cast<float *>(to + (i + 4) * to_stride),
                          _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
      }
   }
};

template <>
struct Square<8> {
   static constexpr int size = 4;

   static void transpose(char *to, int64_t to_stride, const char *from, int64_t from_stride)
   {
      __m256d r[4];
      for (int i = 0; i < 4; i++)
         r[i] = _mm256_loadu_pd(reinterpret_cast<const double *>(from + i * from_stride));
      const __m256d s[4] = {_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]),
                            _mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3])};
      for (int i = 0; i < 2; i++) {
         _mm256_storeu_pd(reinterpret_cast<double *>(to + i * to_stride),
                          _mm256_permute2f128_pd(s[i], s[i + 2], 0x20));
         _mm256_storeu_pd(reinterpret_cast<double *>(to + (i + 2) * to_stride),
                          _mm256_permute2f128_pd(s[i], s[i + 2], 0x31));
      }
   }
};

/// A tile's geometry in memory.
template <TileOrder Order, int Rows, int Cols, int Bytes>
struct Tile {
   static constexpr bool row_major = Order == TileOrder::row_major;
   static constexpr int lines = row_major ? Rows : Cols;
   static constexpr int line_components = row_major ? Cols : Rows;
   static constexpr int line_bytes = line_components * Bytes;
   static constexpr int bytes = Bytes;
   /// Distances in the tile, in components: from a component of a line to the next one, and from
   /// line to line.
   static constexpr int component_step = (row_major ? 1 : Cols) * Bytes;
   static constexpr int line_step = (row_major ? Cols : 1) * Bytes;
};

/// Copies a line of 8 to 256 bytes. (The compiler would copy in pieces of 16.)
template <int Bytes>
[[gnu::always_inline]] inline void copy_line(char *to, const char *from)
{
   if constexpr (Bytes < 32) {
      __builtin_memcpy(to, from, Bytes);
   } else {
#pragma GCC unroll 8
      for (int i = 0; i < Bytes; i += 32)
         _mm256_storeu_si256(reinterpret_cast<__m256i_u *>(to + i),
                             _mm256_loadu_si256(reinterpret_cast<const __m256i_u *>(from + i)));
   }
}

template <typename Tile>
void load(void *tile, const void *memory, int64_t stride)
{
   auto *to = static_cast<char *>(tile);
   const auto *from = static_cast<const char *>(memory);
   if constexpr (Tile::row_major) {
#pragma GCC unroll 8
      for (int line = 0; line < Tile::lines; line++)
         copy_line<Tile::line_bytes>(to + line * Tile::line_bytes, from + line * stride);
   } else {
      constexpr bool is_large = Tile::bytes == 2 && Tile::lines % LargeSquare::size == 0 &&
                                Tile::line_components % LargeSquare::size == 0;
      using Square = std::conditional_t<is_large, LargeSquare, Square<Tile::bytes>>;
      for (int line = 0; line < Tile::lines; line += Square::size) {
         for (int i = 0; i < Tile::line_components; i += Square::size)
            Square::transpose(to + i * Tile::component_step + line * Tile::line_step,
                              Tile::component_step, from + line * stride + i * Tile::bytes, stride);
      }
   }
}

/// Lines at such distances are more streams than the hardware prefetches.
constexpr int64_t far_apart = 512;

/// Prefetches the memory that the next step of a product may load, a little farther along the
/// lines, to the second-level cache. At strides of a power of two, the rest of a cache line does
/// not stay in the first level.
template <typename Tile>
[[gnu::always_inline]] inline void prefetch_farther_on(const char *memory, int64_t stride)
{
   constexpr int64_t farther_on = 128;
   if (stride < far_apart)
      return;
#pragma GCC unroll 8
   for (int line = 0; line < Tile::lines; line++)
      for (int byte = 0; byte < Tile::line_bytes; byte += 64)
         _mm_prefetch(memory + line * stride + byte + farther_on, _MM_HINT_T1);
}

template <typename Tile>
void load_from_memory(void *tile, const void *memory, int64_t stride)
{
   prefetch_farther_on<Tile>(static_cast<const char *>(memory), stride);
   load<Tile>(tile, memory, stride);
}

/// Wide enough for any offset and stride.
using Position = __int128;

template <typename Tile>
bool all_in_bounds(uint64_t offset, uint64_t size, int64_t stride)
{
   const Position last = Position(Tile::lines - 1) * stride;
   const Position lowest = Position(offset) + (last < 0 ? last : 0);
   const Position end = Position(offset) + (last > 0 ? last : 0) + Tile::line_bytes;
   return lowest >= 0 && end <= Position(size);
}

/// Calls use(place in the tile, position in memory, is in bounds) for every component.
template <typename Tile, typename Use>
void for_each_component(uint64_t offset, uint64_t size, int64_t stride, Use use)
{
   for (int line = 0; line < Tile::lines; line++) {
      for (int i = 0; i < Tile::line_components; i++) {
         const Position position = Position(offset) + Position(line) * stride + i * Tile::bytes;
         use(line * Tile::line_step + i * Tile::component_step, uint64_t(position),
             position >= 0 && position + Tile::bytes <= Position(size));
      }
   }
}

template <typename Tile>
void load_robust(void *tile, const void *base, uint64_t offset, uint64_t size, int64_t stride)
{
   const auto *memory = static_cast<const char *>(base);
   if (all_in_bounds<Tile>(offset, size, stride)) {
      load_from_memory<Tile>(tile, memory + offset, stride);
      return;
   }
   for_each_component<Tile>(offset, size, stride, [&](int place, uint64_t position, bool inside) {
      char *to = static_cast<char *>(tile) + place;
      if (inside)
         __builtin_memcpy(to, memory + position, Tile::bytes);
      else
         __builtin_memset(to, 0, Tile::bytes);
   });
}

} // namespace
} // namespace weft::cpu
