// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which multiplications of tiles one call does (TileBlock in tile_kernels.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::cpu {

/// d += a * b, by the tiles' places in memory, in bytes.
struct PlacedProduct {
   uint32_t d, a, b;
   bool operator==(const PlacedProduct &) const = default;
};

/// Sums of equally many products: sum (i, j) is that of a[i][k] * b[k][j], and all tiles of a kind lie at equal distances.
///
///                      b    b + b_col
///          a           d    d + d_col   …
///          a + a_row   d + d_row
///          …
struct ProductBlock {
   uint32_t first; ///< index of a product: its tiles are those of the sum (0, 0)
   uint32_t rows = 1, cols = 1, depth = 1;
   uint32_t a_row = 0, a_step = 0, b_col = 0, b_step = 0, d_row = 0, d_col = 0;
};

/// All products, in blocks that may be computed in this order: sums keep the order of their products.  In a block, no tile is
/// further than `reach` from the first of its kind.
std::vector<ProductBlock> find_blocks(const std::vector<PlacedProduct> &,
                                      const PlacedProduct &reach);

} // namespace weft::cpu
