// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Gives tile_muladd_weft the factors that its kernel wants (tile_kernels.h), which tile_pack_weft makes.  A variable that
/// is loaded from memory and multiplied, and nothing else, is packed where it is loaded, once for all multiplications:
///
///    tile_load   a, memory              tile_pack   a, memory
///    tile_muladd d, a, b, c      ─►     tile_pack   packed, b
///                                       tile_muladd d, a, packed, c
///
/// Any other factor is packed before each; with all the tiles that it is one of before loops of multiplications in which
/// they do not change, and before the first multiplication of a block in which each of them is used twice or more.
///
/// After lower_cmat(), while tiles are variables.
bool pack_factors(nir_shader *, uint32_t subgroup_size);

} // namespace weft::cpu
