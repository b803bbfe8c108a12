// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One guard for the addresses of all loads of a block.
///
/// A load that runs in steps needs a guard (require_regular() of lane_pieces.cc). One branch per
/// load leaves small blocks: LLVM schedules nothing across them, and it spills vectors, because
/// each block has a call in its other branch. If several loads of a block have addresses that are
/// known at the block's beginning, the block is emitted twice instead:
///
///    guard:   the addresses; all conditions      ──► loads as vectors, arithmetic, …   ┐
///                                                └─► loads lane by lane, the same …    ┴─► join

#pragma once

#include "backend/cpu/codegen/translator.h"

namespace weft::cpu {

/// Emits the instructions between the block's phis and its jump. Returns false, and emits nothing,
/// if the block has no such loads.
bool emit_guarded(Translator &, nir_block *);

} // namespace weft::cpu
