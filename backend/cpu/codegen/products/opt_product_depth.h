// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Joins two multiplications that follow each other along k to one of twice the depth, if the
/// kernels have it. AMX takes the same time for both depths.
///
///    tile_pack   as[0], memory             tile_pack   as[0], memory          (twice as wide)
///    tile_pack   as[1], memory + k   ─►    tile_pack   bs[0], memory 2        (twice as high)
///    tile_pack   bs[0], memory 2           tile_muladd d, as[0], bs[0], d
///    tile_pack   bs[1], memory 2 + k
///    tile_muladd d, as[0], bs[0], d
///    tile_muladd d, as[1], bs[1], d
///
/// Either all multiplications between two other side effects of a block are joined or none. The
/// factors of each pair must be neighbours in memory.
///
/// Must come after opt_product_order(), which gives each load a shared tile of its own.
bool opt_product_depth(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
