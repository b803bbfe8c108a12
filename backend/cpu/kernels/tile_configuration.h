// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What AMX's kernels need of a thread: the shapes of its tile registers (TILECFG).
///
/// To configure tiles takes as long as several multiplications, so it is no kernel's business: whoever is about to call
/// kernels on a thread does it, once, and releases the tiles when no more are to come.  The configuration is the same for
/// all kernels, they leave nothing in tile registers, and fibers of a thread that switch between kernels share it.
/// A thread whose tiles are released has nothing of them saved when it is interrupted.

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
