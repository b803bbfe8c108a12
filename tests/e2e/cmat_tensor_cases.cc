// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cmat_tensor.h"

#include <algorithm>
#include <cstring>

namespace weft::e2e::tensor {
namespace {

using oracle::draw;

uint32_t word(const uint8_t *bytes, uint32_t count)
{
   uint32_t value = 0;
   memcpy(&value, bytes, count);
   return value;
}

const BlockFormat formats[] = {
   {"uint8_t q[3];", "uint(b.q[x % 3u])", 3, 1,
    [](const uint8_t *b, uint32_t x) -> uint32_t { return b[x % 3]; }},
   {"uint16_t d; uint8_t q[16];", "uint(b.d) + uint(b.q[x % 16u])", 18, 2,
    [](const uint8_t *b, uint32_t x) -> uint32_t { return word(b, 2) + b[2 + x % 16]; }},
   // The members' size is not a multiple of the alignment, so the block's size is rounded up.
   {"uint d; uint8_t q[7];", "b.d + uint(b.q[x % 7u])", 12, 4,
    [](const uint8_t *b, uint32_t x) -> uint32_t { return word(b, 4) + b[4 + x % 7]; }},
   // The block is read by another type too.
   {"uint w[9];", "b.w[x % 9u] + uint(Bytes(b).value[x % 36u])", 36, 4,
    [](const uint8_t *b, uint32_t x) -> uint32_t { return word(b + x % 9 * 4, 4) + b[x % 36]; }},
};

} // namespace

std::span<const BlockFormat> block_formats()
{
   return formats;
}

std::string Variant::name() const
{
   static const char *const kinds[] = {"load", "store", "decode"},
                            *const clamps[] = {"undefined", "constant", "edge", "repeat", "mirror"},
                            *const view_names[] = {"no view", "view of the span", "view"};
   return std::string(kinds[int(kind)]) + " of " + matrix.name() + ", " + std::to_string(dim) +
          " dimensions, clamp " + clamps[int(clamp)] + ", " + view_names[int(views)] + " of " +
          std::to_string(view_dim) + ", " + storage_name(storage) + " of " + pointee() +
          (format ? std::string(" {") + format->members + "}" : "") +
          (vector ? ", vectors of " + std::to_string(vector) : "") +
          (literal ? ", literal numbers" : "") + ", subgroup size " +
          std::to_string(subgroup_size) +
          (workgroup ? ", a workgroup of " + std::to_string(workgroup) : "");
}

namespace {

class CaseMaker {
public:
   CaseMaker(oracle::Random &random, const Variant &v) : random(random), v(v) {}

   Case make()
   {
      for (;;) {
         Case c = {TensorLayout(v.dim, v.clamp),
                   TensorView(v.view_dim, v.views == Views::of_dimensions, v.permutation)};
         make_layout(c);
         if (!fits(c.layout))
            continue;
         make_view(c);
         return c;
      }
   }

private:
   uint32_t put(Case &c, Place place, const Numbers &numbers)
   {
      std::copy(numbers.begin(), numbers.end(), c.numbers.begin() + place);
      return 1;
   }

   Numbers draw_all(uint32_t count, uint32_t first, uint32_t last)
   {
      Numbers numbers(count);
      for (uint32_t &n : numbers)
         n = between(random, first, last);
      return numbers;
   }

   /// The matrix' length along a dimension of a layout: the view's permutation comes between.
   uint32_t size_of(uint32_t dimension) const
   {
      uint32_t i = dimension;
      if (v.views == Views::of_span)
         i = uint32_t(std::ranges::find(v.permutation, dimension) - v.permutation.begin());
      return i + 1 == v.dim ? v.matrix.cols : i + 2 == v.dim ? v.matrix.rows : 1;
   }

   /// Mostly aligns the last dimension's span and offset for vectors. Returns the new offset.
   uint32_t align_span(uint32_t block, uint32_t dimension, uint32_t &span, uint32_t offset)
   {
      if (draw(random, 2))
         span = std::min(dimension, v.vector * between(random, 1, 2 * block / v.vector));
      const uint32_t unit = draw(random, 4) ? std::min(span, block) : v.vector;
      offset = uint32_t(int32_t(offset) / int32_t(unit) * int32_t(unit));
      const uint32_t inside = dimension - std::min(span, dimension);
      return v.clamp == Clamp::undefined && offset > inside ? inside / unit * unit : offset;
   }

   void make_layout(Case &c)
   {
      static const uint32_t largest[] = {0, 1500, 40, 12, 7, 5};
      TensorLayout &t = c.layout;
      // An ordinary matrix within a larger one, as most programs have it.
      const bool ordinary = v.dim == 2 && v.kind != Kind::decode && draw(random, 3) == 0;
      // If elements shared blocks, several invocations of a store would write the same block.
      const bool blocks = v.blocks && !ordinary && v.kind != Kind::store &&
                          (v.kind == Kind::decode || draw(random, 2));
      Numbers block = blocks ? draw_all(v.dim, 1, 4) : Numbers(v.dim, 1);
      // Mostly aligned for vectors.
      const uint32_t last_dim = v.dim - 1;
      const bool vectors = v.vector && draw(random, 8) != 0;
      if (vectors)
         block[last_dim] = v.vector * between(random, 1, 4);
      t.set_block_size(block);
      put(c, at_block, block);

      Numbers dimension = draw_all(v.dim, v.clamp == Clamp::mirror ? 2 : 1, largest[v.dim]);
      if (vectors && draw(random, 4))
         dimension[last_dim] = block[last_dim] * between(random, 1, 4);
      const bool whole_matrix = ordinary || (v.dim == 2 && draw(random, 2));
      if (ordinary || (whole_matrix && v.clamp == Clamp::undefined)) {
         for (uint32_t i = 0; i < 2; i++)
            dimension[i] += size_of(i);
      }
      // Lines that begin at multiples of 16 bytes.
      const uint32_t line = ordinary && draw(random, 4) ? 16 / v.matrix.component_bytes() : 1;
      if (ordinary)
         dimension[1] = (dimension[1] + line - 1) / line * line;
      t.set_dimension(dimension);
      put(c, at_dimension, dimension);

      if (!ordinary && draw(random, 3) == 0) {
         Numbers stride(v.dim);
         uint32_t least = between(random, 1, 2);
         for (uint32_t i = v.dim; i-- > 0;) {
            stride[i] = least + draw(random, 3);
            least = stride[i] * ((dimension[i] + block[i] - 1) / block[i]);
         }
         t.set_stride(stride);
         put(c, at_stride, stride);
         c.numbers[at_sets_stride] = 1;
      }

      const bool twice = draw(random, 2);
      for (int slice = 0; slice < (twice ? 2 : 1); slice++) {
         const bool last = slice == (twice ? 1 : 0);
         Numbers offset(v.dim), span(v.dim);
         for (uint32_t i = 0; i < v.dim; i++) {
            span[i] = between(random, 1, dimension[i]);
            if ((whole_matrix || (v.vector && draw(random, 2) && size_of(i) <= dimension[i])) &&
                last)
               span[i] = size_of(i);
            const uint32_t inside = dimension[i] - std::min(span[i], dimension[i]);
            uint32_t final_offset = draw(random, 2 * dimension[i] + 3) - dimension[i] - 1;
            if (ordinary)
               final_offset = (i ? line : 1) * draw(random, 3);
            if (v.clamp == Clamp::undefined && final_offset > inside)
               final_offset = ordinary ? 0 : draw(random, inside + 1);
            if (vectors && i == last_dim && last)
               final_offset = align_span(block[i], dimension[i], span[i], final_offset);
            offset[i] = last ? final_offset - uint32_t(t.offset[i]) : draw(random, 8);
         }
         t.slice(offset, span);
         put(c, slice ? at_second_offset : at_offset, offset);
         put(c, slice ? at_second_span : at_span, span);
      }
      c.numbers[at_slices_twice] = twice;

      t.clamp_value = uint32_t(random());
      c.numbers[at_clamp_value] = t.clamp_value;
   }

   void make_view(Case &c)
   {
      if (v.views == Views::of_dimensions) {
         const Numbers dimension = draw_all(v.view_dim, 1, v.view_dim > 2 ? 8 : 40);
         c.view.set_dimension(dimension);
         put(c, at_view_dimension, dimension);
         if (draw(random, 2)) {
            c.view.stride = draw_all(v.view_dim, 0, 50);
            put(c, at_view_stride, c.view.stride);
            c.numbers[at_sets_view_stride] = 1;
         }
      }
      if (v.views != Views::none && draw(random, 2)) {
         TensorView &view = c.view;
         const bool at_origin = draw(random, 3) == 0;
         // The end of the clip region wraps in the specification's formula, and not in NVIDIA's
         // driver: it stays below 2^32 here.
         const auto span = [&](uint32_t most) {
            return at_origin && draw(random, 2) ? 0xffffffff : draw(random, most + 2);
         };
         view.clip_row_offset = at_origin ? 0 : draw(random, v.matrix.rows);
         view.clip_row_span = span(v.matrix.rows);
         view.clip_col_offset = at_origin ? 0 : draw(random, v.matrix.cols);
         view.clip_col_span = span(v.matrix.cols);
         if (v.vector && draw(random, 4))
            for (uint32_t *n : {&view.clip_row_offset, &view.clip_row_span, &view.clip_col_offset,
                                &view.clip_col_span})
               *n = *n == 0xffffffff ? *n : *n / v.vector * v.vector;
         put(c, at_clip,
             {view.clip_row_offset, view.clip_row_span, view.clip_col_offset, view.clip_col_span});
         c.numbers[at_sets_clip] = 1;
      }
   }

   bool fits(const TensorLayout &t)
   {
      uint64_t last = 0;
      for (uint32_t i = 0; i < t.dim; i++)
         last += uint64_t((t.dimension[i] - 1) / t.block_size[i]) * t.stride[i];
      return (last + 1) * v.unit() <= region_bytes;
   }

   oracle::Random &random;
   const Variant &v;
};

} // namespace

Case draw_case(oracle::Random &random, const Variant &variant)
{
   return CaseMaker(random, variant).make();
}

} // namespace weft::e2e::tensor
