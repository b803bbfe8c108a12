// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What AMX's tile registers hold: rows and bytes per row of each (TILECFG).
///
/// To load that takes as long as several multiplications, so it is no kernel's business: whoever is about to call kernels
/// on a thread configures it, once, and releases it when no more are to come.  It is the same for all kernels, they
/// leave nothing in tile registers, and fibers of a thread that switch between kernels share it.
/// A thread whose tiles are released has nothing of them saved when it is interrupted.

#pragma once

namespace weft::cpu {

/// The thread's, while this exists.
class TileConfiguration {
public:
   /// Does nothing unless `needed`: for kernels that find_tile_muladd_amx() gave.
   explicit TileConfiguration(bool needed);
   ~TileConfiguration();
   TileConfiguration(const TileConfiguration &) = delete;
   TileConfiguration &operator=(const TileConfiguration &) = delete;

private:
   const bool needed;
};

} // namespace weft::cpu
