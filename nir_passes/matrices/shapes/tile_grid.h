// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The geometry of a matrix that is cut into tiles of one size, as numbers only.
///
/// Tiles are numbered from left to right, then from top to bottom. The last tile of a row or of a
/// column may reach beyond the matrix. Its extent is its upper left part, which belongs to the
/// matrix. For a matrix of 20×12 and tiles of 8×8:
///
///        ┌────┬────┐
///        │ 0  │ 1 ░│   3 × 2 tiles. Tiles 0 and 2 have an extent of 8×8, tiles 1 and 3 of 8×4,
///        ├────┼────┤   tile 4 of 4×8, tile 5 of 4×4. ░ is padding.
///        │ 2  │ 3 ░│
///        ├────┼────┤
///        │ 4  │ 5 ░│
///        │░░░░│░░░░│
///        └────┴────┘

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace weft {

struct TileGrid {
   struct Size {
      uint32_t rows, cols;
      bool operator==(const Size &) const = default;
      constexpr uint32_t area() const { return rows * cols; }
   };
   Size matrix, tile; ///< in elements

   /// The grid's size, in tiles.
   constexpr uint32_t rows() const { return (matrix.rows + tile.rows - 1) / tile.rows; }
   constexpr uint32_t cols() const { return (matrix.cols + tile.cols - 1) / tile.cols; }
   constexpr uint32_t tiles() const { return rows() * cols(); }

   /// A tile's row and column in the grid.
   struct Position {
      uint32_t row, col;
      bool operator==(const Position &) const = default;
   };
   /// The i-th tile along rows, or along columns.
   constexpr Position position(uint32_t i, bool by_columns = false) const
   {
      return by_columns ? Position{i % rows(), i / rows()} : Position{i / cols(), i % cols()};
   }

   constexpr Size extent(const Position &p) const
   {
      return {std::min(tile.rows, matrix.rows - p.row * tile.rows),
              std::min(tile.cols, matrix.cols - p.col * tile.cols)};
   }
   constexpr bool is_padded(const Size &extent) const { return extent != tile; }
   /// Whether the matrix has padding below its last row, or behind its last column.
   constexpr bool pads_rows() const { return matrix.rows % tile.rows != 0; }
   constexpr bool pads_cols() const { return matrix.cols % tile.cols != 0; }

   /// Neighbouring tiles of the same extent.
   struct Region {
      Position first;
      Size count; ///< in tiles; may be 0
      Size extent;
   };
   /// All tiles; tiles without padding come first.
   constexpr std::array<Region, 4> regions() const
   {
      const Size whole = {matrix.rows / tile.rows, matrix.cols / tile.cols},
                 rest = {rows() - whole.rows, cols() - whole.cols},
                 part = {matrix.rows % tile.rows, matrix.cols % tile.cols};
      return {{{{0, 0}, whole, tile},
               {{0, whole.cols}, {whole.rows, rest.cols}, {tile.rows, part.cols}},
               {{whole.rows, 0}, {rest.rows, whole.cols}, {part.rows, tile.cols}},
               {{whole.rows, whole.cols}, rest, part}}};
   }

   /// The size of tiles as one tile, with the first tile at its top. In private memory, tiles are
   /// contiguous.
   constexpr Size stacked(uint32_t count) const { return {tile.rows * count, tile.cols}; }
   /// The number of tiles that hold `runs` runs of `run_length` elements, or the largest possible
   /// number: a power of two that divides the number of tiles.
   constexpr uint32_t stack_for_runs(uint32_t runs, uint32_t run_length) const
   {
      uint32_t count = 1;
      while (stacked(count).area() / run_length < runs && tiles() % (2 * count) == 0)
         count *= 2;
      return count;
   }
};

} // namespace weft
