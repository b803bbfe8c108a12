// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The kernels of each instruction set. Each file is compiled with the flags of its set.

#pragma once

#include "backend/cpu/kernels/tile_muladd.h"

namespace weft::cpu {

/// All operations of tile_operations().
TileProduct find_tile_product_avx2(const MatrixOperation &);
/// All operations except products of 8-bit factors with 32-bit sums.
TileProduct find_tile_product_avx512(const MatrixOperation &);
/// Operations of 8-bit factors and 32-bit sums.
TileProduct find_tile_product_avx_vnni(const MatrixOperation &);
TileProduct find_tile_product_avx512_vnni(const MatrixOperation &);
/// Operations of bfloat16.
TileProduct find_tile_product_avx512_bf16(const MatrixOperation &);
/// Operations of bfloat16, halves and 8-bit factors for which AMX is faster. The kernels need a
/// TileConfiguration.
TileProduct find_tile_product_amx(const MatrixOperation &);

void *find_tile_transfer_avx2(const TileTransfer &);

} // namespace weft::cpu
