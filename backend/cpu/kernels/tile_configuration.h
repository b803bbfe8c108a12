// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What AMX's kernels need of a thread: the shapes of its tile registers (TILECFG), and memory for factors that are packed.
///
/// To configure tiles takes as long as several multiplications, so it is no kernel's business: whoever is about to call
/// kernels on a thread does it, once, and releases the tiles when no more are to come.  The configuration is the same for
/// all kernels, they leave nothing in tile registers, and fibers of a thread that switch between kernels share it.
/// A thread whose tiles are released has nothing of them saved when it is interrupted.

#pragma once

namespace weft::cpu {

/// Copies of tiles that were factors B, and how they are packed.  Programs multiply several A by a B, and a tile register
/// is not loaded from stores that are under way: to find that B is the same as before is faster than to pack it again.
struct PackedTiles {
   struct Entry {
      alignas(64) char tile[512];
      alignas(64) char packed[512];
   };
   /// By packing (pairs, fours) and address; zeros are packed as zeros.
   static constexpr unsigned count = 8;
   Entry entries[2][count] = {};
};

/// The thread's tiles are configured, and its kernels use this memory, while this exists.
class TileConfiguration {
public:
   /// Null: for no kernels that find_tile_muladd_amx() gave; nothing is configured.
   explicit TileConfiguration(PackedTiles *);
   ~TileConfiguration();
   TileConfiguration(const TileConfiguration &) = delete;
   TileConfiguration &operator=(const TileConfiguration &) = delete;

private:
   const bool configured;
};

} // namespace weft::cpu
