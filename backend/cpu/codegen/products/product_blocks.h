// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Groups multiplications of tiles into blocks, each of which one call computes (TileBlock in
/// tile_kernels.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cpu {

/// d += a * b, by the tiles' byte offsets in memory.
struct PlacedProduct {
   uint32_t d, a, b;
   bool operator==(const PlacedProduct &) const = default;
};

/// Sums with equal numbers of products: sum (i, j) adds the products a[i][k] * b[k][j]. The tiles
/// of each kind lie at equal distances.
///
///                      b    b + b_col
///          a           d    d + d_col   …
///          a + a_row   d + d_row
///          …
struct ProductBlock {
   uint32_t first; ///< index of the first product, of sum (0, 0)
   uint32_t rows = 1, cols = 1, depth = 1;
   uint32_t a_row = 0, a_step = 0, b_col = 0, b_step = 0, d_row = 0, d_col = 0;
};

/// Distributes all products over blocks, to be computed in this order; each sum keeps the order of
/// its products. Within a block, no tile is further than `reach` from the first of its kind.
std::vector<ProductBlock> find_blocks(const std::vector<PlacedProduct> &,
                                      const PlacedProduct &reach);

} // namespace weft::cpu
