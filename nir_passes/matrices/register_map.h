// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The register map: the elements that each invocation holds if the back end has no tiles.
///
/// The invocations of a subgroup form a grid; gl_SubgroupInvocationID counts along its rows. An
/// accumulator is divided into as many blocks, and each invocation holds one. Of A an invocation
/// holds all rows of its accumulator block, of B all its columns: a multiplication then needs no
/// other invocation's registers. So every invocation in a row of the grid holds the same elements
/// of A, and every one in a column the same elements of B. For 8×8 matrices and 16 invocations (a
/// grid of 4×4):
///
///        accumulator                 A                     B
///      2 ┌ 0 0 1 1 2 2 3 3      ┌ 0…3 0…3 …          ┌ 0,4,8,12 0,4,8,12 1,5,9,13 …
///   rows │ 0 0 1 1 2 2 3 3      │ 0…3 0…3 …          │ 0,4,8,12 0,4,8,12 1,5,9,13 …
///        │ 4 4 5 5 6 6 7 7      │ 4…7 4…7 …          │ …
///        └ …                    └ …                  └
///
/// A block's elements are components in row-major order.

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace weft {

struct RegisterMap {
   enum class Use { a, b, accumulator };

   uint32_t rows, cols;
   Use use;
   uint32_t subgroup_size; ///< a power of two

   /// The size of lavapipe's subgroups with vectors of 256 bits.
   static constexpr uint32_t max_vector_subgroup = 8;

   struct Grid {
      uint32_t rows, cols;
   };
   /// The grid is as square as possible, else wider than high: an invocation then loads the fewest
   /// elements. But a small subgroup is one vector of a CPU. lavapipe loads it lane by lane, except
   /// an element that all lanes share. So its grid is one row, and all lanes hold the same A.
   constexpr Grid grid() const
   {
      if (subgroup_size <= max_vector_subgroup)
         return {1, subgroup_size};
      const uint32_t high = 1u << (std::bit_width(subgroup_size) - 1) / 2;
      return {high, subgroup_size / high};
   }

   /// Blocks from top to bottom and from left to right. If there are fewer than the grid has rows
   /// or columns, they repeat: several invocations hold the same block.
   constexpr Grid blocks() const
   {
      return {use == Use::b ? 1 : divide(rows, grid().rows),
              use == Use::a ? 1 : divide(cols, grid().cols)};
   }
   constexpr uint32_t block_rows() const { return rows / blocks().rows; }
   constexpr uint32_t block_cols() const { return cols / blocks().cols; }

   /// Components per invocation.
   constexpr uint32_t length() const { return block_rows() * block_cols(); }

   /// A row and a column. Numbers may also be expressions that support /, %, * by a uint32_t and +
   /// with each other: NIR's coordinates come from the same code (cmat_coordinates.h).
   template <typename Number>
   struct Position {
      Number row, col;
      auto operator<=>(const Position &) const = default;
   };
   using Element = Position<uint32_t>;

   /// The invocation's position in the grid.
   template <typename Number>
   constexpr Position<Number> place(const Number &invocation) const
   {
      return {invocation / grid().cols, invocation % grid().cols};
   }
   /// The first element of the invocation's block.
   template <typename Number>
   constexpr Position<Number> origin(const Number &invocation) const
   {
      const Position<Number> p = place(invocation);
      return {p.row % blocks().rows * block_rows(), p.col % blocks().cols * block_cols()};
   }
   template <typename Number>
   constexpr Position<Number> element(const Number &invocation, const Number &component) const
   {
      const Position<Number> first = origin(invocation);
      return {first.row + component / block_cols(), first.col + component % block_cols()};
   }

   template <typename Number>
   struct Owner {
      Number invocation, component;
   };
   /// The first of the invocations that hold an element, and its component; the others hold the
   /// element as the same component.
   template <typename Number>
   constexpr Owner<Number> owner(const Position<Number> &e) const
   {
      return {e.row / block_rows() * grid().cols + e.col / block_cols(),
              e.row % block_rows() * block_cols() + e.col % block_cols()};
   }
   constexpr bool holds(uint32_t invocation, const Element &e) const
   {
      const Element first = origin(invocation);
      return e.row - first.row < block_rows() && e.col - first.col < block_cols();
   }

   /// The component at a position in the block.
   constexpr uint32_t component(uint32_t row_in_block, uint32_t col_in_block) const
   {
      return row_in_block * block_cols() + col_in_block;
   }

   /// Whether the invocation stores its block. If several invocations hold the same block, only one
   /// stores it.
   constexpr bool stores(uint32_t invocation) const
   {
      const Element p = place(invocation);
      return p.row < blocks().rows && p.col < blocks().cols;
   }

private:
   /// The largest power of two, at most `parts`, that divides n.
   static constexpr uint32_t divide(uint32_t n, uint32_t parts) { return std::min(n & -n, parts); }
};

} // namespace weft
