// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One look at the addresses of all loads of a block.
///
/// A load that runs in steps stands behind a condition (require_regular() of lane_pieces.cc).  A branch
/// at every load leaves small blocks, between which nothing is scheduled and values of all lanes
/// wait in memory, as each has a call beside it.  Where several loads of a block have addresses that
/// are known when it begins, the block is emitted twice instead:
///
///    guard:   the addresses; all conditions      ──► loads as vectors, arithmetic, …   ┐
///                                                └─► loads lane by lane, the same …    ┴─► join

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// Emits what is between the block's phis and its jump; false if it has no such loads, and nothing was
/// emitted.
bool emit_guarded(Translator &, nir_block *);

} // namespace weft::cpu
