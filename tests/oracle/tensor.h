// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tensor layouts and views as plain numbers: the results of SPV_NV_tensor_addressing's
/// instructions, and the place of a matrix element by SPV_NV_cooperative_matrix2, "Tensor Layout
/// and View". Scalar loops in the order of the specification's text; arithmetic of 32 bits that
/// wraps.

#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace weft::oracle {

enum class Clamp { undefined, constant, edge, repeat, mirror };

using Numbers = std::vector<uint32_t>;

struct TensorLayout {
   TensorLayout(uint32_t dim, Clamp);

   void set_block_size(const Numbers &);
   void set_dimension(const Numbers &);
   void set_stride(const Numbers &);
   void slice(const Numbers &offsets, const Numbers &spans);

   uint32_t dim;
   Clamp clamp;
   Numbers block_size, dimension, stride, span;
   std::vector<int32_t> offset;
   uint32_t clamp_value = 0;
};

struct TensorView {
   TensorView(uint32_t dim, bool has_dimensions, const Numbers &permutation);

   void set_dimension(const Numbers &);

   uint32_t dim;
   bool has_dimensions;
   Numbers permutation, dimension, stride;
   uint32_t clip_row_offset = 0, clip_row_span = 0xffffffff;
   uint32_t clip_col_offset = 0, clip_col_span = 0xffffffff;
};

/// The place or value of an element.
struct Clipped {};  ///< it is left as it is, in the matrix and in memory
struct Constant {}; ///< a load gives the clamp value, a store does nothing
struct InMemory {
   uint32_t index; ///< of the element or block in memory
   Numbers block, in_block;
};
using TensorPlace = std::variant<Clipped, Constant, InMemory>;

enum class Access { load, store };

/// The place of an element of a matrix with `cols` columns. The view may be null. Elements must be
/// inside of a layout that does not clamp.
TensorPlace tensor_place(const TensorLayout &, const TensorView *, Access, uint32_t row,
                         uint32_t col, uint32_t cols);

} // namespace weft::oracle
