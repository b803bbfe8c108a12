// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Loads each tile of the shader's shared memory once for all subgroups that multiply by it.
/// Subgroups with the same rows of A, or the same columns of B, form a group, which has its tiles
/// in common. Its members divide the loads:
///
///    barrier                         barrier
///    tile_pack   as[0], rows         if (subgroup_id is in …)
///    tile_pack   as[1], rows + 1  ─►    tile_pack as[group][0], rows
///    tile_muladd d, as[0], …         if (subgroup_id is in …)
///    tile_muladd e, as[1], …            tile_pack as[group][1], rows + 1
///                                    barrier
///                                    tile_muladd d, as[group][0], …
///                                    tile_muladd e, as[group][1], …
///
/// A barrier of the workgroup comes before the loads, so all subgroups reach the new barrier too,
/// and no product still reads the tiles. Nothing else may write memory between the barrier and the
/// loads. The places in shared memory must follow from the subgroup's number alone. A subgroup's
/// other loads move behind the new barrier, because all subgroups load them to the same place.
///
/// Must come after opt_product_order() and opt_product_depth(), whose shared tiles it replaces. The
/// new tiles take at most `bytes`.
bool opt_shared_packs(nir_shader *, uint32_t subgroup_size, uint32_t bytes);

} // namespace weft::cpu
