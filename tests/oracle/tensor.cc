// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/tensor.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace weft::oracle {

TensorLayout::TensorLayout(uint32_t dim, Clamp clamp)
    : dim(dim), clamp(clamp), block_size(dim, 1), dimension(dim, 0), stride(dim, 0), span(dim, 0),
      offset(dim, 0)
{
}

void TensorLayout::set_block_size(const Numbers &sizes)
{
   block_size = sizes;
}

void TensorLayout::set_dimension(const Numbers &sizes)
{
   dimension = span = sizes;
   offset.assign(dim, 0);
   uint32_t s = 1;
   for (uint32_t i = dim; i-- > 0;) {
      stride[i] = s;
      s *= (dimension[i] + block_size[i] - 1) / block_size[i];
   }
}

void TensorLayout::set_stride(const Numbers &strides)
{
   stride = strides;
}

void TensorLayout::slice(const Numbers &offsets, const Numbers &spans)
{
   for (uint32_t i = 0; i < dim; i++)
      offset[i] = int32_t(uint32_t(offset[i]) + offsets[i]);
   span = spans;
}

TensorView::TensorView(uint32_t dim, bool has_dimensions, const Numbers &permutation)
    : dim(dim), has_dimensions(has_dimensions), permutation(permutation), dimension(dim, 0),
      stride(dim, 0)
{
}

void TensorView::set_dimension(const Numbers &sizes)
{
   dimension = sizes;
   for (uint32_t i = 0; i < dim; i++)
      stride[i] = std::accumulate(sizes.begin() + i + 1, sizes.end(), 1u, std::multiplies<>());
}

/// The remainder with the divisor's sign, as of OpSMod.
static int64_t modulo(int64_t a, int64_t b)
{
   const int64_t r = a % b;
   return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static uint32_t through_view(const TensorLayout &t, const TensorView &v, uint32_t index)
{
   const Numbers &dimensions = v.has_dimensions ? v.dimension : t.span;
   Numbers coordinate(v.dim);
   for (uint32_t d = v.dim; d-- > 0;) {
      const uint32_t i = v.permutation[d];
      coordinate[i] = index % dimensions.at(i);
      index /= dimensions.at(i);
   }

   Numbers stride = v.stride;
   if (!v.has_dimensions) {
      stride[v.dim - 1] = 1;
      for (uint32_t d = v.dim - 1; d-- > 0;)
         stride[d] = stride[d + 1] * t.span.at(d + 1);
   }
   return std::inner_product(coordinate.begin(), coordinate.end(), stride.begin(), 0u);
}

TensorPlace tensor_place(const TensorLayout &t, const TensorView *v, Access access, uint32_t row,
                         uint32_t col, uint32_t cols)
{
   uint32_t index = row * cols + col;
   if (v) {
      if (row < v->clip_row_offset || row >= v->clip_row_offset + v->clip_row_span ||
          col < v->clip_col_offset || col >= v->clip_col_offset + v->clip_col_span)
         return Clipped{};
      const uint32_t width = std::min(cols, v->clip_col_span);
      index = (row - v->clip_row_offset) * width + (col - v->clip_col_offset);
      index = through_view(t, *v, index);
   }

   Numbers in_span(t.dim);
   for (uint32_t d = t.dim; d-- > 0;) {
      in_span[d] = index % t.span[d];
      index /= t.span[d];
   }

   InMemory place = {0, Numbers(t.dim), Numbers(t.dim)};
   for (uint32_t d = 0; d < t.dim; d++) {
      const int64_t size = t.dimension[d];
      int64_t c = int32_t(in_span[d] + uint32_t(t.offset[d]));
      if (c < 0 || c >= size) {
         switch (t.clamp == Clamp::undefined || access == Access::load ? t.clamp
                                                                       : Clamp::constant) {
         case Clamp::undefined:
            throw std::logic_error("a tensor layout without a clamp mode is left");
         case Clamp::constant:
            return Constant{};
         case Clamp::edge:
            c = std::min(std::max(c, int64_t(0)), size - 1);
            break;
         case Clamp::repeat:
            c = modulo(c, size);
            break;
         case Clamp::mirror:
            c = modulo(c, 2 * size - 2);
            c = c >= size ? 2 * size - 2 - c : c;
            break;
         }
      }
      place.block[d] = uint32_t(c) / t.block_size[d];
      place.in_block[d] = uint32_t(c) % t.block_size[d];
      place.index += place.block[d] * t.stride[d];
   }
   return place;
}

} // namespace weft::oracle
