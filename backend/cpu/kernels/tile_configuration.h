// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What AMX's kernels need of a thread: the shapes of its tile registers (TILECFG).
///
/// To configure tiles takes as long as several multiplications, so kernels do not do it.  Their
/// caller configures the tiles of a thread once, and releases them after the last kernel.  The
/// configuration is the same for all kernels, and they leave the tile registers empty, so the fibers
/// of a thread share it.  Once the tiles are released, an interrupt saves no tile registers.

#pragma once

namespace weft::cpu {

/// The thread's tiles are configured while this exists, if they need to be.
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
