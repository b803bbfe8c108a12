// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The state of a thread that kernels need: AMX's shapes of tile registers (TILECFG).
///
/// The configuration of tiles takes as long as several multiplications, so the caller of kernels
/// configures the tiles of a thread once, and releases them after the last kernel. The
/// configuration is the same for all kernels, and they leave the tile registers empty, so the
/// fibers of a thread share it. After the release, an interrupt saves no tile registers.

#pragma once

namespace weft::cpu {

/// Configures the thread's tiles for its lifetime, if `needed`.
class TileConfiguration {
public:
   explicit TileConfiguration(bool needed);
   ~TileConfiguration();
   TileConfiguration(const TileConfiguration &) = delete;
   TileConfiguration &operator=(const TileConfiguration &) = delete;

private:
   const bool configured;
};

} // namespace weft::cpu
