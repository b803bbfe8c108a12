// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/tensors/tensor_place.h"

#include <utility>

namespace weft {

namespace {

/// A number with the facts that save divisions by it. All members except `value` may be null.
struct Number {
   nir_def *value;
   /// value = high * radix + low, with low < radix.
   nir_def *high = nullptr, *low = nullptr, *radix = nullptr;
   nir_def *bound = nullptr; ///< value < bound
};

/// Divides n, which becomes the quotient, and returns the remainder. Most divisors are the number
/// of rows or columns, for which `n` has the quotient already.
nir_def *divide(nir_builder *b, Number &n, nir_def *by)
{
   nir_def *remainder = nir_umod(b, n.value, by), *quotient = nir_udiv(b, n.value, by);
   if (n.radix) {
      nir_def *same = nir_ieq(b, n.radix, by);
      remainder = nir_bcsel(b, same, n.low, remainder);
      quotient = nir_bcsel(b, same, n.high, quotient);
   }
   nir_def *bound = nullptr;
   if (n.bound) {
      nir_def *is_below = nir_uge(b, by, n.bound);
      remainder = nir_bcsel(b, is_below, n.value, remainder);
      quotient = nir_bcsel(b, is_below, nir_imm_int(b, 0), quotient);
      bound = nir_iadd_imm(b, nir_udiv(b, nir_iadd_imm(b, n.bound, -1), by), 1);
   }
   n = {.value = quotient, .bound = bound};
   return remainder;
}

/// The element's number in the clipped part of the matrix, row by row.
Number matrix_index(nir_builder *b, const TensorAddressing &a, nir_def *row, nir_def *col)
{
   const TensorClip &clip = a.view.clip;
   row = nir_isub(b, row, clip.first_row);
   col = nir_isub(b, col, clip.first_col);
   nir_def *width = nir_umin(b, nir_imm_int(b, a.matrix.cols), clip.cols);
   return {
      .value = nir_iadd(b, nir_imul(b, row, width), col),
      .high = row,
      .low = col,
      .radix = width,
      .bound = nir_imul_imm(b, width, a.matrix.rows),
   };
}

TensorNumbers span_coordinates(nir_builder *b, const TensorAddressing &a, Number index)
{
   const TensorLayout &layout = a.layout;
   const TensorView &view = a.view;
   const TensorNumbers &dimension = view.has_dimensions ? view.dimension : layout.span;
   TensorNumbers in_view = {}, in_span = {};
   for (unsigned i = view.dim; i-- > 0;) {
      const unsigned d = view.permutation[i];
      in_view[d] = divide(b, index, dimension[d]);
   }
   if (!view.has_dimensions && view.dim == layout.dim)
      return in_view;
   nir_def *stride = nir_imm_int(b, 1);
   index = {.value = nir_imm_int(b, 0)};
   for (unsigned i = view.dim; i-- > 0;) {
      nir_def *step = view.has_dimensions ? view.stride[i] : stride;
      index.value = nir_iadd(b, index.value, nir_imul(b, in_view[i], step));
      stride = nir_imul(b, stride, dimension[i]);
   }
   for (unsigned i = layout.dim; i-- > 0;)
      in_span[i] = divide(b, index, layout.span[i]);
   return in_span;
}

/// The remainder of a signed number with the sign of the divisor (OpSMod). NIR's imod of negative
/// numbers is undefined in Vulkan.
nir_def *modulo(nir_builder *b, nir_def *i, nir_def *by)
{
   nir_def *is_negative = nir_ilt_imm(b, i, 0);
   nir_def *rest = nir_umod(b, nir_bcsel(b, is_negative, nir_inot(b, i), i), by);
   return nir_bcsel(b, is_negative, nir_isub(b, nir_iadd_imm(b, by, -1), rest), rest);
}

nir_def *clamp(nir_builder *b, SpvTensorClampMode mode, nir_def *coordinate, nir_def *is_outside,
               nir_def *dimension)
{
   nir_def *last = nir_iadd_imm(b, dimension, -1), *zero = nir_imm_int(b, 0);
   switch (mode) {
   case SpvTensorClampModeClampToEdge: {
      nir_def *is_negative = nir_ilt_imm(b, coordinate, 0);
      return nir_bcsel(b, is_negative, zero, nir_umin(b, coordinate, last));
   }
   case SpvTensorClampModeRepeat:
      return nir_bcsel(b, is_outside, modulo(b, coordinate, dimension), coordinate);
   case SpvTensorClampModeRepeatMirrored: {
      nir_def *period = nir_ishl_imm(b, last, 1);
      /* The specification divides by 0 if the dimension is 1. */
      nir_def *rest = modulo(b, coordinate, nir_umax(b, period, nir_imm_int(b, 1)));
      nir_def *mirrored = nir_isub(b, period, rest);
      rest = nir_bcsel(b, nir_uge(b, rest, dimension), mirrored, rest);
      return nir_bcsel(b, is_outside, rest, coordinate);
   }
   default:
      return coordinate;
   }
}

/// A coordinate as the number of the block and the place in it.
using Split = std::pair<nir_def *, nir_def *>;

Split split(nir_builder *b, nir_def *coordinate, nir_def *block_size)
{
   nir_def *in_block = nir_umod(b, coordinate, block_size);
   return {nir_udiv(b, coordinate, block_size), in_block};
}

/// The same for a last coordinate in the span, if runs fit. The offset is split apart from it: no
/// later pass can find out that the offset is a multiple of the block.
Split split_last(nir_builder *b, const TensorLayout &layout, nir_def *in_span)
{
   const unsigned last = layout.dim - 1;
   nir_def *size = layout.block_size[last], *offset = layout.offset[last];
   nir_def *piece = block_piece(b, layout);
   nir_def *pieces = nir_udiv(b, nir_umod(b, offset, size), piece);
   pieces = nir_bcsel(b, nir_ieq(b, piece, size), nir_imm_int(b, 0), pieces);

   Number n = {.value = in_span, .bound = layout.span[last]};
   nir_def *rest = divide(b, n, size);
   nir_def *in_block = nir_iadd(b, nir_imul(b, pieces, piece), rest);
   return {nir_iadd(b, nir_udiv(b, offset, size), n.value), in_block};
}

TensorPlace place(nir_builder *b, const TensorAddressing &a, nir_def *row, nir_def *col,
                  bool begins_run)
{
   const TensorLayout &layout = a.layout;
   SpvTensorClampMode mode = layout.clamp_mode;
   if (a.is_store && mode != SpvTensorClampModeUndefined)
      mode = SpvTensorClampModeConstant;

   const TensorNumbers in_span = span_coordinates(b, a, matrix_index(b, a, row, col));
   TensorPlace place = {.index = nir_imm_int(b, 0), .block = {}, .in_block = {}, .is_inside = {}};
   for (unsigned i = 0; i < layout.dim; ++i) {
      nir_def *coordinate = nir_iadd(b, in_span[i], layout.offset[i]);
      if (mode != SpvTensorClampModeUndefined) {
         /* Negative coordinates are outside of any dimension, also of one larger than an int. */
         nir_def *limit = nir_umin(b, layout.dimension[i], nir_imm_int(b, INT32_MIN));
         nir_def *is_outside = nir_uge(b, coordinate, limit);
         if (mode == SpvTensorClampModeConstant) {
            nir_def *is_inside = nir_inot(b, is_outside);
            place.is_inside = place.is_inside ? nir_iand(b, place.is_inside, is_inside) : is_inside;
         }
         coordinate = clamp(b, mode, coordinate, is_outside, layout.dimension[i]);
      }
      const auto [block, in_block] = begins_run && i + 1 == layout.dim
                                        ? split_last(b, layout, in_span[i])
                                        : split(b, coordinate, layout.block_size[i]);
      place.block[i] = block;
      place.in_block[i] = in_block;
      place.index = nir_iadd(b, place.index, nir_imul(b, block, layout.stride[i]));
   }
   return place;
}

/// Whether a row or column is outside of the clip. The end wraps around like all numbers here.
nir_def *is_outside(nir_builder *b, nir_def *i, unsigned count, nir_def *first, nir_def *span)
{
   nir_def *end = nir_iadd(b, first, span);
   /* No later pass can find out that no row or column reaches a large end. */
   nir_def *ends = nir_ult_imm(b, end, count);
   nir_def *is_beyond = nir_iand(b, ends, nir_uge(b, i, end));
   return nir_ior(b, nir_ult(b, i, first), is_beyond);
}

} // namespace

TensorPlace tensor_place(nir_builder *b, const TensorAddressing &a, nir_def *row, nir_def *col)
{
   return place(b, a, row, col, false);
}

TensorPlace tensor_place_of_run(nir_builder *b, const TensorAddressing &a, nir_def *row,
                                nir_def *col)
{
   return place(b, a, row, col, true);
}

nir_def *is_clipped(nir_builder *b, const TensorAddressing &a, nir_def *row, nir_def *col)
{
   const TensorClip &clip = a.view.clip;
   nir_def *row_is_outside = is_outside(b, row, a.matrix.rows, clip.first_row, clip.rows);
   return nir_ior(b, row_is_outside, is_outside(b, col, a.matrix.cols, clip.first_col, clip.cols));
}

nir_def *is_unclipped(nir_builder *b, const TensorAddressing &a)
{
   const TensorClip &clip = a.view.clip;
   nir_def *first = nir_ior(b, clip.first_row, clip.first_col);
   nir_def *all_rows = nir_uge_imm(b, clip.rows, a.matrix.rows);
   nir_def *all = nir_iand(b, all_rows, nir_uge_imm(b, clip.cols, a.matrix.cols));
   return nir_iand(b, nir_ieq_imm(b, first, 0), all);
}

bool is_never_clipped(const TensorAddressing &a)
{
   const TensorClip &clip = a.view.clip;
   const auto is = [](nir_def *number, uint32_t least, uint32_t most) {
      const nir_scalar scalar = nir_get_scalar(number, 0);
      return nir_scalar_is_const(scalar) && nir_scalar_as_uint(scalar) >= least &&
             nir_scalar_as_uint(scalar) <= most;
   };
   return is(clip.first_row, 0, 0) && is(clip.first_col, 0, 0) &&
          is(clip.rows, a.matrix.rows, UINT32_MAX) && is(clip.cols, a.matrix.cols, UINT32_MAX);
}

nir_def *block_piece(nir_builder *b, const TensorLayout &layout)
{
   const unsigned last = layout.dim - 1;
   return nir_umin(b, layout.span[last], layout.block_size[last]);
}

} // namespace weft
