// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random tensor layouts and views, and statements that load and store matrices through them.

#include "tests/fuzz/generator.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace weft::fuzz {

using e2e::MatrixType;
using oracle::Clamp;
using oracle::Numbers;
using oracle::TensorLayout;
using oracle::TensorView;

/// Elements or blocks from the first to the last of a layout.
static uint64_t extent(const TensorLayout &t)
{
   uint64_t last = 0;
   for (uint32_t i = 0; i < t.dim; i++)
      last += uint64_t((t.dimension[i] - 1) / t.block_size[i]) * t.stride[i];
   return last + 1;
}

Numbers Generator::draw_all(uint32_t count, uint32_t first, uint32_t last)
{
   Numbers numbers(count);
   for (uint32_t &n : numbers)
      n = first + draw(last - first + 1);
   return numbers;
}

/// A view: a permutation of the layout's sliced dimensions, or separate dimensions. Some views
/// clip.
TensorView Generator::view(const TensorLayout &t, const MatrixType &type)
{
   const bool has_dimensions = one_in(2);
   const uint32_t dim = has_dimensions ? 1 + draw(4) : t.dim;
   Numbers permutation(dim);
   std::iota(permutation.begin(), permutation.end(), 0u);
   std::ranges::shuffle(permutation, random);
   TensorView v(dim, has_dimensions, permutation);
   if (has_dimensions) {
      v.set_dimension(draw_all(dim, 1, dim > 2 ? 8 : 40));
      if (one_in(2))
         v.stride = draw_all(dim, 0, 50);
   }
   if (one_in(2)) {
      v.clip_row_offset = draw(type.rows);
      v.clip_row_span = draw(type.rows + 2);
      v.clip_col_offset = draw(type.cols);
      v.clip_col_span = draw(type.cols + 2);
   }
   return v;
}

/// Makes the choices that do not depend on the layout's numbers.
void Generator::finish_tensor(Tensor &t, const MatrixType &type)
{
   t.literal = one_in(3);
   t.sliced_twice = one_in(5);
   std::byte bits[8] = {};
   // GLSL cannot express the upper half of a double.
   if (oracle::format(type.type).bytes <= 4)
      oracle::encode_number(type.type, draw(5), bits);
   memcpy(&t.layout.clamp_value, bits, sizeof(uint32_t));
}

/// A layout of at most `room` elements or blocks, for loads: matrices need not fit, and indices
/// wrap.
Tensor Generator::tensor(const MatrixType &type, uint32_t room, Decoding decoding)
{
   const bool decodes = decoding.blocks;
   static constexpr uint32_t largest[] = {0, 300, 40, 12, 7, 5};
   // Mostly ordinary ones.
   const uint32_t dim = one_in(2) ? 2 : 1 + draw(5);
   const auto clamp = Clamp(draw(5));
   const bool fits = room >= (decodes ? 64 : type.rows * type.cols);
   const bool ordinary = dim == 2 && fits && one_in(2);
   TensorLayout t(dim, clamp);
   do {
      t = TensorLayout(dim, clamp);
      if (decodes ? !one_in(4) : one_in(6))
         t.set_block_size(draw_all(dim, 1, 4));
      Numbers dimension = draw_all(dim, clamp == Clamp::mirror ? 2 : 1, largest[dim]);
      if (ordinary) {
         dimension = {type.rows + draw(4), type.cols + 8 * draw(3)};
         for (uint32_t i = 0; i < 2; i++)
            dimension[i] = std::min(dimension[i], decodes ? 24u : 40u);
      }
      if (decoding.vector) {
         Numbers block = t.block_size;
         block[dim - 1] = decoding.vector * (1 + draw(3));
         t.set_block_size(block);
         // Mostly whole vectors, which are then decoded as vectors.
         if (!one_in(4))
            dimension[dim - 1] += -dimension[dim - 1] % decoding.vector;
      }
      t.set_dimension(dimension);
      if (one_in(3)) {
         uint32_t least = 1 + draw(2);
         for (uint32_t i = dim; i-- > 0;) {
            t.stride[i] = least + draw(3);
            least = t.stride[i] * ((dimension[i] + t.block_size[i] - 1) / t.block_size[i]);
         }
      }
      Numbers offset(dim), span(dim);
      for (uint32_t i = 0; i < dim; i++) {
         span[i] =
            ordinary ? std::min(i ? type.cols : type.rows, dimension[i]) : 1 + draw(dimension[i]);
         offset[i] = ordinary ? draw(4) : draw(2 * dimension[i] + 3) - dimension[i] - 1;
         // Lines that begin at a block or an equal part of one: such lines are decoded as vectors.
         if (decoding.vector && i == dim - 1 && !one_in(4)) {
            span[i] = std::min(span[i] + -span[i] % decoding.vector, dimension[i]);
            const uint32_t piece = std::min(span[i], t.block_size[i]);
            offset[i] = draw((dimension[i] - span[i]) / piece + 1 + one_in(3)) * piece;
         }
         if (clamp == Clamp::undefined && offset[i] > dimension[i] - span[i])
            offset[i] = draw(dimension[i] - span[i] + 1);
      }
      t.slice(offset, span);
   } while (extent(t) > room);
   Tensor result = {t, {}};
   result.vector = decoding.vector;
   if (decoding.vector ? one_in(4) : one_in(2))
      result.view = view(t, type);
   finish_tensor(result, type);
   return result;
}

/// A tensor in which each element has a separate place, or no place.
Tensor Generator::tensor_for_store(const MatrixType &type, uint32_t room)
{
   const auto clamp = Clamp(draw(5));
   const uint32_t dim = 2 + (clamp != Clamp::mirror && one_in(3) ? draw(4) : 0);
   const bool transposes = one_in(3);
   TensorLayout t(dim, clamp);
   Numbers offset, span(dim, 1);
   span[dim - 2] = transposes ? type.cols : type.rows;
   span[dim - 1] = transposes ? type.rows : type.cols;
   do {
      Numbers dimension = span;
      for (uint32_t &d : dimension)
         d = one_in(3) ? 2 + draw(d + 4) : d;
      t = TensorLayout(dim, clamp);
      t.set_dimension(dimension);
      if (dim == 2 && one_in(3))
         t.stride[0] += draw(9);
      offset.assign(dim, 0);
      for (uint32_t i = 0; i < dim; i++) {
         if (one_in(3))
            offset[i] = draw(5) - 2;
         const uint32_t most = dimension[i] - std::min(span[i], dimension[i]);
         if (clamp == Clamp::undefined && offset[i] > most)
            offset[i] = 0;
      }
      t.slice(offset, span);
   } while (extent(t) > room || (clamp == Clamp::undefined &&
                                 !std::ranges::equal(span, t.dimension, std::less_equal())));
   Tensor result = {t, {}};
   if (transposes) {
      Numbers permutation(dim);
      std::iota(permutation.begin(), permutation.end(), 0u);
      std::swap(permutation[dim - 2], permutation[dim - 1]);
      result.view = TensorView(dim, false, permutation);
   }
   finish_tensor(result, type);
   return result;
}

Stmt Generator::tensor_statement(Kind kind, const Place &place, uint32_t memory, Tensor t,
                                 Expr offset)
{
   const MatrixType &type = *f->variables[place.variable].matrix;
   spend(type.rows * type.cols * 6);
   Stmt s{kind, 0, memory, {std::move(offset)}, {place}, {}, {}};
   s.tensor = std::move(t);
   return s;
}

void Generator::load_tensor(Block &out, const Flow &flow)
{
   if (one_in(2))
      return decode_tensor(out, flow);
   const MatrixType type = pick(types);
   const uint32_t m = matrix_input(type_of(type.type));
   const Memory &memory = p.memories[m];
   // Matrices lie at multiples of 16 bytes.
   const uint32_t steps = draw(5);
   const uint32_t room = memory.elements - steps * 16 / memory.component_bytes();
   Expr offset = literal(Type::u32, std::lcm(16u, memory.unit_bytes) / memory.unit_bytes * steps);
   out.push_back(tensor_statement(Kind::tensor_load, matrix_place(type, flow), m,
                                  tensor(type, room), std::move(offset)));
}

/// A load from blocks of an integer input, which a decode function turns into elements.
void Generator::decode_tensor(Block &out, const Flow &flow)
{
   std::vector<uint32_t> memories;
   for (const auto &[type, list] : inputs) {
      if (!is_integer(type) || !expressible(type))
         continue;
      std::ranges::copy_if(list, std::back_inserter(memories),
                           [&](uint32_t m) { return holds_matrices(p.memories[m].storage); });
   }
   if (memories.empty())
      return load_tensor(out, flow);
   const uint32_t m = pick(memories);
   const Memory &memory = p.memories[m];
   const MatrixType type = pick(types);
   const uint32_t block = 1 + draw(one_in(2) ? 4 : 20);
   Wanted w;
   w.level = scope;
   w.depth = 3;
   w.subgroup_operations = false;
   w.elements = block;
   w.element = memory.type;
   w.in_block = true;
   Tensor t = tensor(type, memory.elements / block, {true, pick({0u, 2u, 4u, 8u})});
   t.block = block;
   w.coordinates = 2 * t.layout.dim;
   Stmt s = tensor_statement(Kind::tensor_load, matrix_place(type, flow), m, std::move(t),
                             literal(Type::u32, 0));
   // An expression of the block that is exact.
   const Type scalar = type_of(type.type);
   Expr value = any(memory.type, w);
   if (is_float(scalar))
      value = arithmetic(Binary::bit_and, std::move(value),
                         literal(memory.type, is_small_float(scalar) ? 3 : 15));
   if (is_small_float(scalar))
      value = {Op::convert, Type::f32, 0, 0, 0, {std::move(value)}};
   if (scalar != value.type)
      value = {Op::convert, scalar, 0, 0, 0, {std::move(value)}};
   s.exprs.push_back(one_in(3) ? any(scalar, w) : std::move(value));
   out.push_back(std::move(s));
}

/// Stores to a region of the output that no other store uses.
void Generator::store_tensor(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   const Type scalar = type_of(type.type);
   const uint32_t m = output_memory(scalar, false);
   const Memory memory = p.memories[m];
   const uint32_t units = region(scalar) * memory.component_bytes() / memory.unit_bytes;
   const uint32_t number = outputs.at({scalar, false}).regions++;
   if (flow.in_loop)
      out.push_back(synchronize());
   out.push_back(tensor_statement(Kind::tensor_store, matrix_source(type, flow), m,
                                  tensor_for_store(type, region(scalar)),
                                  own_region(number, units, 0)));
}

/// Loads from the subgroup's own region of shared memory, after writing all of it.
void Generator::tensor_through_shared(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   const Type scalar = type_of(type.type);
   const uint32_t m = shared_memory(scalar, false, true);
   const Memory memory = p.memories[m];
   const uint32_t units = region(scalar) * memory.component_bytes() / memory.unit_bytes;
   const Expr own = shared_region(units);
   Tensor written = {TensorLayout(2, Clamp::undefined), {}};
   written.layout.set_dimension({type.rows, type.cols});
   written.literal = one_in(2);
   out.push_back(synchronize());
   out.push_back(
      tensor_statement(Kind::tensor_store, matrix_source(type, flow), m, std::move(written), own));
   out.push_back(synchronize());
   out.push_back(tensor_statement(Kind::tensor_load, matrix_place(type, flow), m,
                                  tensor(type, type.rows * type.cols), own));
}

} // namespace weft::fuzz
