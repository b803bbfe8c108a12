// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The element map: which invocation of a subgroup owns which element of a matrix.
///
/// A matrix of any use and type is a dense row-major array of rows * cols elements. The W
/// invocations of a subgroup take elements round-robin: element e belongs to invocation e % W, as
/// its component e / W. For 8×8 and W = 16:
///
///              columns                        invocation.component
///        ┌ 0  1  2  3  4  5  6  7       ┌  0.0  1.0  2.0  3.0  4.0  5.0  6.0  7.0
///   rows │ 8  9 10 11 12 13 14 15  =>   │  8.0  9.0 10.0 11.0 12.0 13.0 14.0 15.0
///        │16 17 18 19 20 21 22 23       │  0.1  1.1  2.1  3.1  4.1  5.1  6.1  7.1
///        └ …                            └  …
///
/// So component k of all invocations is the run of elements k*W … k*W + W-1. If a back end keeps
/// the values of a subgroup side by side, a matrix in memory is the dense tile itself.

#pragma once

#include <cstdint>

namespace weft {

struct ElementMap {
   uint32_t rows, cols;
   uint32_t subgroup_size; ///< W

   /// A row and a column: numbers, or expressions of NIR as in register_map.h.
   template <typename Number>
   struct Position {
      Number row, col;
      bool operator==(const Position &) const = default;
   };
   using Element = Position<uint32_t>;
   struct Owner {
      uint32_t invocation, component;
      bool operator==(const Owner &) const = default;
   };

   /// Components per invocation. If W does not divide the number of elements, the last components
   /// of some invocations lie outside of the matrix.
   constexpr uint32_t length() const { return (rows * cols + subgroup_size - 1) / subgroup_size; }

   constexpr Owner owner(Element e) const
   {
      const uint32_t linear = e.row * cols + e.col;
      return {linear % subgroup_size, linear / subgroup_size};
   }

   template <typename Number>
   constexpr Position<Number> element(const Number &invocation, const Number &component) const
   {
      const Number linear = component * subgroup_size + invocation;
      return {linear / cols, linear % cols};
   }
   constexpr Element element(Owner o) const { return element(o.invocation, o.component); }

   constexpr bool contains(Element e) const { return e.row < rows && e.col < cols; }
};

} // namespace weft
