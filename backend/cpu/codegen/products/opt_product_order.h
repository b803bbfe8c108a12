// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Lets multiplications of tiles follow each other, so that one call can do many (product_blocks.h).  Between them lie
/// the loads and packs of further factors, often into the same variables, as in unrolled loops:
///
///    tile_pack   a, memory               tile_pack   as[0], memory
///    tile_pack   b, memory + 1           tile_pack   bs[0], memory + 1
///    tile_muladd d, a, b, d      ─►      tile_pack   bs[1], memory + 2
///    tile_pack   b, memory + 2           tile_muladd d, as[0], bs[0], d
///    tile_muladd e, a, b, e              tile_muladd e, as[0], bs[1], e
///
/// Multiplications go down until something may see their results.  Each load into a variable gets memory of its own where all
/// that happens to the variable happens in one block, with no barrier from a load to its last use.  So no two subgroups need
/// that at the same time, and it is the workgroup's: shared variables, of so many `bytes` at most, in which a tile has all
/// invocations' parts.  They stay in the first-level cache, where each subgroup's own would take turns.  There go the
/// matrices of the workgroup, too (workgroup_matrix.h).
///
/// While private variables have no addresses yet; shared ones have, and are dead.  Derefs of the new ones have 64 bits.
bool opt_product_order(nir_shader *, uint32_t subgroup_size, uint32_t bytes);

} // namespace weft::cpu
