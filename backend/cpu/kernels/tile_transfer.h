// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Between the table of tile operations and the loads and stores.

#pragma once

#include "backend/cpu/kernels/tile_kernels.h"

namespace weft::cpu {

/// Needs AVX2.  Null for sizes other than 8, 16 and 32 by 8, 16 and 32 (without 32 x 32) of 1, 2, 4
/// or 8 bytes.
void *find_tile_transfer_avx2(const TileTransfer &);

} // namespace weft::cpu
