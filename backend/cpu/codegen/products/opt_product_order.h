// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Moves multiplications of tiles next to each other, so that one call can do many
/// (product_blocks.h). Loads and packs of further factors lie between them, often into the same
/// variables, as in unrolled loops:
///
///    tile_pack   a, memory               tile_pack   as[0], memory
///    tile_pack   b, memory + 1           tile_pack   bs[0], memory + 1
///    tile_muladd d, a, b, d      ─►      tile_pack   bs[1], memory + 2
///    tile_pack   b, memory + 2           tile_muladd d, as[0], bs[0], d
///    tile_muladd e, a, b, e              tile_muladd e, as[0], bs[1], e
///
/// Multiplications sink until an instruction may read their results. Each load into a variable gets
/// its own memory if all accesses of the variable are in one block, without a barrier between a
/// load and its last use.
///
/// No two subgroups need that memory at the same time, so the workgroup shares it: shared
/// variables, at most `bytes` in all. A tile there holds the parts of all invocations. Shared tiles
/// stay in the first-level cache, where private tiles of the subgroups would evict each other. The
/// workgroup's matrices (cmat_marks.h) move to shared variables, too.
///
/// Runs while private variables have no addresses; shared variables already have theirs, so none is
/// left. Tiles in the new variables are shared tiles (cmat_marks.h).
bool opt_product_order(nir_shader *, uint32_t subgroup_size, uint32_t bytes);

} // namespace weft::cpu
