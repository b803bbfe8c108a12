// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tile loads and stores, with AVX2.

#include "backend/cpu/kernels/x86/instruction_sets.h"
#include "backend/cpu/kernels/x86/tile_load.h"

namespace weft::cpu {
namespace {

/// Prefetches the lines behind a tile's, to write them: programs store a tile's neighbours next.
/// Without it, each line of a large matrix waits for memory in order.
template <typename Tile>
[[gnu::always_inline]] inline void prefetch_next_lines(char *memory, int64_t stride)
{
   if (stride < far_apart)
      return;
#pragma GCC unroll 8
   for (int line = Tile::lines; line < 2 * Tile::lines; line++)
      __asm__ volatile("prefetchw %0" ::"m"(memory[line * stride]));
}

template <typename Tile>
void store(void *memory, const void *tile, int64_t stride)
{
   auto *to = static_cast<char *>(memory);
   const auto *from = static_cast<const char *>(tile);
   if constexpr (Tile::row_major) {
      prefetch_next_lines<Tile>(to, stride);
#pragma GCC unroll 8
      for (int line = 0; line < Tile::lines; line++)
         copy_line<Tile::line_bytes>(to + line * stride, from + line * Tile::line_bytes);
   } else {
      using Square = Square<Tile::bytes>;
      constexpr int size = Square::size;
      for (int line = 0; line < Tile::lines; line += size) {
         for (int i = 0; i < Tile::line_components; i += size)
            Square::transpose(to + line * stride + i * Tile::bytes, stride,
                              from + i * Tile::component_step + line * Tile::line_step,
                              Tile::component_step);
      }
   }
}

template <typename Tile>
void store_robust(void *base, uint64_t offset, uint64_t size, const void *tile, int64_t stride)
{
   auto *memory = static_cast<char *>(base);
   if (all_in_bounds<Tile>(offset, size, stride)) {
      store<Tile>(memory + offset, tile, stride);
      return;
   }
   for_each_component<Tile>(offset, size, stride, [&](int place, uint64_t position, bool inside) {
      if (inside)
         __builtin_memcpy(memory + position, static_cast<const char *>(tile) + place, Tile::bytes);
   });
}

template <typename Tile>
void *find(const TileTransfer &t)
{
   if (t.access == TileAccess::load)
      return t.robust ? reinterpret_cast<void *>(load_robust<Tile>)
                      : reinterpret_cast<void *>(load_from_memory<Tile>);
   return t.robust ? reinterpret_cast<void *>(store_robust<Tile>)
                   : reinterpret_cast<void *>(store<Tile>);
}

template <TileOrder Order, int Rows, int Cols>
void *find(const TileTransfer &t)
{
   switch (t.bytes) {
   case 1:
      return find<Tile<Order, Rows, Cols, 1>>(t);
   case 2:
      return find<Tile<Order, Rows, Cols, 2>>(t);
   case 4:
      return find<Tile<Order, Rows, Cols, 4>>(t);
   case 8:
      return find<Tile<Order, Rows, Cols, 8>>(t);
   default:
      return nullptr;
   }
}

template <int Rows, int Cols>
void *find(const TileTransfer &t)
{
   return t.order == TileOrder::row_major ? find<TileOrder::row_major, Rows, Cols>(t)
                                          : find<TileOrder::column_major, Rows, Cols>(t);
}

template <int Rows, int Cols>
void *find_bytes(const TileTransfer &t)
{
   return t.order == TileOrder::row_major ? find<Tile<TileOrder::row_major, Rows, Cols, 1>>(t)
                                          : find<Tile<TileOrder::column_major, Rows, Cols, 1>>(t);
}

} // namespace

void *find_tile_transfer_avx2(const TileTransfer &t)
{
   const auto is = [&](uint32_t rows, uint32_t cols) { return t.rows == rows && t.cols == cols; };
   if (is(8, 8))
      return find<8, 8>(t);
   if (is(8, 16))
      return find<8, 16>(t);
   if (is(16, 8))
      return find<16, 8>(t);
   if (is(16, 16))
      return find<16, 16>(t);
   if (is(8, 32))
      return find<8, 32>(t);
   if (is(32, 8))
      return find<32, 8>(t);
   if (is(16, 32))
      return find<16, 32>(t);
   if (is(32, 16))
      return find<32, 16>(t);
   if (t.bytes == 1 && is(16, 64))
      return find_bytes<16, 64>(t);
   if (t.bytes == 1 && is(64, 16))
      return find_bytes<64, 16>(t);
   return nullptr;
}

} // namespace weft::cpu
