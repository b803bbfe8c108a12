// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrix_support.h"

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft::cpu {

/// Gives tile_muladd_weft the packed factors that its kernel needs (tile_kernels.h); tile_pack_weft
/// packs them. A variable that is only loaded from memory and multiplied is packed at its load,
/// once for all multiplications:
///
///    tile_load   a, memory              tile_pack   a, memory
///    tile_muladd d, a, b, c      ─►     tile_pack   packed, b
///                                       tile_muladd d, a, packed, c
///
/// Other factors are packed before each multiplication. In two places all tiles of a factor's
/// variable are packed at once. One is before loops of multiplications in which they do not change.
/// The other is before the first multiplication of a block that uses each of them at least twice.
///
/// After lower_cmat(), while tiles are variables.
bool pack_factors(nir_shader *, uint32_t subgroup_size);

/// The operation of a tile_muladd_weft.
MatrixOperation operation_of_product(const nir_intrinsic_instr *muladd);

} // namespace weft::cpu
