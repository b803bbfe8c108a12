// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores of matrices through tensor layouts and views: random ones, against the model in
/// tests/oracle/tensor.h.  A shader is made for one number of dimensions, clamp mode and kind of
/// view; the numbers come from a buffer, many sets for one shader, or are constants of it.

#include "tests/e2e/cmat.h"
#include "tests/oracle/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace weft::e2e {

namespace {

using oracle::Clamp;
using oracle::draw;
using oracle::Numbers;
using oracle::TensorLayout;
using oracle::TensorView;

enum class Kind { load, store, decode };
enum class Views { none, of_span, of_dimensions };
enum class Storage { buffer, reference, shared };

/// What a decode function reads, and how: as GLSL, and here.
struct BlockFormat {
   const char *members;
   const char *read; ///< of the reference b and a number x
   uint32_t bytes, align;
   uint32_t (*value)(const uint8_t *block, uint32_t x);
};

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
   // Not a multiple of its alignment, to which its size is rounded up.
   {"uint d; uint8_t q[7];", "b.d + uint(b.q[x % 7u])", 12, 4,
    [](const uint8_t *b, uint32_t x) -> uint32_t { return word(b, 4) + b[4 + x % 7]; }},
   // Also as what it is not.
   {"uint w[9];", "b.w[x % 9u] + uint(Bytes(b).value[x % 36u])", 36, 4,
    [](const uint8_t *b, uint32_t x) -> uint32_t { return word(b + x % 9 * 4, 4) + b[x % 36]; }},
};

struct Variant {
   MatrixType matrix;
   Kind kind;
   uint32_t dim;
   Clamp clamp;
   Views views;
   uint32_t view_dim;
   Numbers permutation;
   Storage storage;
   bool wide_pointee; ///< the array pointed to is of uvec4
   const BlockFormat *format;
   bool literal; ///< all numbers are constants
   bool blocks;  ///< of more than one element
   uint32_t subgroup_size;
   uint32_t vector = 0;    ///< what the vector decode function returns, where there is one
   bool marks = false;     ///< the vector function's values are others
   uint32_t workgroup = 0; ///< of a matrix of workgroup scope

   uint32_t unit() const { return format ? format->bytes : matrix.component_bytes(); }
   std::string pointee() const
   {
      if (format)
         return "uint";
      return wide_pointee ? "uvec4" : oracle::format(matrix.type).glsl;
   }
   uint32_t pointee_bytes() const
   {
      if (format)
         return 4;
      return wide_pointee ? 16 : matrix.component_bytes();
   }
   uint32_t invocations() const { return workgroup ? workgroup : subgroup_size; }
   std::string glsl_type() const
   {
      std::string type = matrix.glsl();
      const std::string scope = "gl_ScopeSubgroup";
      if (workgroup)
         type.replace(type.find(scope), scope.size(), "gl_ScopeWorkgroup");
      return type;
   }
   std::string name() const
   {
      static const char *const kinds[] = {"load", "store", "decode"},
                               *const clamps[] = {"undefined", "constant", "edge", "repeat",
                                                  "mirror"},
                               *const view_names[] = {"no view", "view of the span", "view"},
                               *const storages[] = {"buffer", "reference", "shared"};
      return std::string(kinds[int(kind)]) + " of " + matrix.name() + ", " + std::to_string(dim) +
             " dimensions, clamp " + clamps[int(clamp)] + ", " + view_names[int(views)] + " of " +
             std::to_string(view_dim) + ", " + storages[int(storage)] + " of " + pointee() +
             (format ? std::string(" {") + format->members + "}" : "") +
             (vector ? ", vectors of " + std::to_string(vector) : "") +
             (literal ? ", literal numbers" : "") + ", subgroup size " +
             std::to_string(subgroup_size) +
             (workgroup ? ", a workgroup of " + std::to_string(workgroup) : "");
   }
};

/// Where the numbers of one case lie in the buffer.
enum Place : uint32_t {
   at_block = 0,
   at_dimension = 5,
   at_stride = 10,
   at_offset = 15,
   at_span = 20,
   at_second_offset = 25,
   at_second_span = 30,
   at_view_dimension = 35,
   at_view_stride = 40,
   at_clip = 45,
   at_clamp_value = 49,
   at_sets_stride = 50,
   at_slices_twice = 51,
   at_sets_view_stride = 52,
   at_sets_clip = 53,
   case_words = 64,
};

/// Bytes of memory for each case: all elements of any layout lie in them.
constexpr uint32_t region_bytes = 16384;

struct Case {
   TensorLayout layout;
   TensorView view;
   std::array<uint32_t, case_words> numbers = {};
};

uint32_t between(oracle::Random &random, uint32_t first, uint32_t last)
{
   return first + draw(random, last - first + 1);
}

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

   /// Lets the last dimension's span and offset mostly be such that vectors fit; the new offset.
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
      // Blocks that several elements of a store share would be written by all of them.
      const bool blocks = v.blocks && !ordinary && v.kind != Kind::store &&
                          (v.kind == Kind::decode || draw(random, 2));
      Numbers block = blocks ? draw_all(v.dim, 1, 4) : Numbers(v.dim, 1);
      // Mostly such that vectors fit, as far as this number goes.
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

const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push { uvec2 address; } push;
layout(constant_id = 0) const bool never = false;
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Reference { $POINTEE data[]; };
$BLOCKS
shared $POINTEE shared_memory[$SHARED_COUNT];
#define group gl_WorkGroupID.x
$DECODE
$LAYOUT sliced($LAYOUT t)
{
   return sliceTensorLayoutNV(t, $SLICE);
}
void main()
{
   $MATRIX m;
   coopMatLoad(m, objects.data, group * $ELEMENTS, $COLS, gl_CooperativeMatrixLayoutRowMajor);
   $LAYOUT t = createTensorLayoutNV($DIM, $CLAMP);
   t = setTensorLayoutBlockSizeNV(t, $BLOCK_SIZE);
   t = setTensorLayoutDimensionNV(t, $DIMENSION);
   if ($SETS_STRIDE != 0)
      t = setTensorLayoutStrideNV(t, $STRIDE);
   t = sliced(t);
   if ($SLICES_TWICE != 0)
      t = sliceTensorLayoutNV(t, $SECOND_SLICE);
   t = setTensorLayoutClampValueNV(t, $CLAMP_VALUE);
   $VIEW
   $BEFORE
   $ACCESS
   $AFTER
}
)";

class Sweep {
public:
   Sweep(Device &device, oracle::Random &random) : device(device), random(random) {}

   void run(const Variant &v)
   {
      CaseMaker maker(random, v);
      std::vector<Case> cases;
      for (uint32_t i = 0; i < (v.literal ? 1 : 16); i++)
         cases.push_back(maker.make());
      run(v, cases);
   }

   void run(const Variant &v, const std::vector<Case> &cases)
   {
      SCOPED_TRACE(v.name());
      const uint32_t count = uint32_t(cases.size());
      const std::string source = shader_text(v, cases[0]);
      if (const std::string why = inexpressible(source); !why.empty())
         return skip_case(why);
      std::vector<uint32_t> spirv = compile_glsl(source);
      if (v.vector) {
         ASSERT_EQ(add_vector_decode_functions(spirv), 1u);
      }
      Pipeline pipeline(device, spirv,
                        {.bindings = {1, 1, 1, 1},
                         .push_bytes = 8,
                         .subgroup_size = v.subgroup_size,
                         .spec_constants = {}});

      const uint32_t elements = v.matrix.rows * v.matrix.cols,
                     matrix_bytes = elements * v.matrix.component_bytes();
      Buffer memory(device, count * region_bytes), objects(device, count * matrix_bytes),
         results(device, count * matrix_bytes),
         numbers(device, count * case_words * sizeof(uint32_t));
      oracle::fill_random(random, ComponentType::u32, oracle::Inputs::bits, memory.bytes());
      oracle::fill_random(random, v.matrix.type, oracle::Inputs::bits, objects.bytes());
      oracle::fill_poison(results.bytes());
      for (uint32_t i = 0; i < count; i++)
         std::copy(cases[i].numbers.begin(), cases[i].numbers.end(),
                   numbers.as<uint32_t>().begin() + i * case_words);
      const std::vector<std::byte> before(memory.bytes().begin(), memory.bytes().end());

      const uint64_t address = v.storage == Storage::reference ? memory.address() : 0;
      pipeline.dispatch({memory, objects, results, numbers}, {count}, address);

      for (uint32_t i = 0; i < count; i++) {
         count_case();
         const auto part = [&](std::span<const std::byte> bytes, size_t size) {
            return bytes.subspan(i * size, size);
         };
         const auto object = part(objects.bytes(), matrix_bytes);
         if (v.kind == Kind::store)
            check_store(v, cases[i], object, part(before, region_bytes),
                        part(memory.bytes(), region_bytes));
         else
            check_load(v, cases[i], object, part(before, region_bytes),
                       part(results.bytes(), matrix_bytes));
         if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "case " << i << ":" << describe(cases[i]);
            return;
         }
      }
   }

private:
   oracle::TensorPlace place(const Variant &v, const Case &c, uint32_t row, uint32_t col)
   {
      return oracle::tensor_place(c.layout, v.views == Views::none ? nullptr : &c.view,
                                  v.kind == Kind::store ? oracle::Access::store
                                                        : oracle::Access::load,
                                  row, col, v.matrix.cols);
   }

   void check_load(const Variant &v, const Case &c, std::span<const std::byte> object,
                   std::span<const std::byte> memory, std::span<const std::byte> result)
   {
      const uint32_t bytes = v.matrix.component_bytes();
      for (uint32_t i = 0; i < v.matrix.rows * v.matrix.cols; i++) {
         const uint32_t row = i / v.matrix.cols, col = i % v.matrix.cols;
         const oracle::TensorPlace at = place(v, c, row, col);
         std::array<std::byte, 8> expected = {};
         const char *origin = "of the object";
         if (const auto *there = std::get_if<oracle::InMemory>(&at)) {
            origin = "in memory";
            const std::byte *from = &memory[there->index * v.unit()];
            if (v.format)
               oracle::encode_int(v.matrix.type, 0, expected.data()),
                  oracle::encode_number(v.matrix.type,
                                        decoded(*v.format, *there, from) ^ (v.marks ? mark : 0),
                                        expected.data());
            else
               memcpy(expected.data(), from, bytes);
         } else if (std::holds_alternative<oracle::Constant>(at)) {
            origin = "the clamp value";
            memcpy(expected.data(), &c.layout.clamp_value, 4);
         } else {
            memcpy(expected.data(), &object[i * bytes], bytes);
         }
         if (memcmp(expected.data(), &result[i * bytes], bytes) != 0) {
            ADD_FAILURE() << "element " << row << ", " << col << " is "
                          << hex(&result[i * bytes], bytes) << ", expected "
                          << hex(expected.data(), bytes) << ", " << origin;
            return;
         }
      }
   }

   void check_store(const Variant &v, const Case &c, std::span<const std::byte> object,
                    std::span<const std::byte> before, std::span<const std::byte> after)
   {
      const uint32_t bytes = v.matrix.component_bytes();
      // Several elements may go to the same place: any of them is right.
      std::vector<std::vector<uint32_t>> writers(region_bytes / bytes);
      for (uint32_t i = 0; i < v.matrix.rows * v.matrix.cols; i++) {
         const oracle::TensorPlace at = place(v, c, i / v.matrix.cols, i % v.matrix.cols);
         if (const auto *there = std::get_if<oracle::InMemory>(&at))
            writers.at(there->index).push_back(i);
      }
      for (uint32_t at = 0; at < writers.size(); at++) {
         const auto holds = [&](const std::byte *value) {
            return memcmp(&after[at * bytes], value, bytes) == 0;
         };
         const bool right = writers[at].empty() ? holds(&before[at * bytes])
                                                : std::ranges::any_of(writers[at], [&](uint32_t i) {
                                                     return holds(&object[i * bytes]);
                                                  });
         if (!right) {
            ADD_FAILURE() << "place " << at << " is " << hex(&after[at * bytes], bytes) << ", was "
                          << hex(&before[at * bytes], bytes)
                          << ", stored there: " << writers[at].size() << " elements"
                          << (writers[at].empty() ? "" : ", one of them ")
                          << (writers[at].empty() ? ""
                                                  : hex(&object[writers[at][0] * bytes], bytes));
            return;
         }
      }
   }

   static uint32_t decoded(const BlockFormat &format, const oracle::InMemory &at,
                           const std::byte *block)
   {
      uint32_t x = 1;
      for (uint32_t i = 0; i < at.block.size(); i++)
         x = (x * 31 + at.block[i]) * 17 + at.in_block[i];
      return (format.value(reinterpret_cast<const uint8_t *>(block), x) ^ x) & 127;
   }

   static std::string hex(const std::byte *bytes, uint32_t count)
   {
      char out[20] = "0x";
      for (uint32_t i = 0; i < count; i++)
         snprintf(out + 2 + 2 * i, 3, "%02x", unsigned(bytes[count - 1 - i]));
      return out;
   }

   static std::string list(const auto &numbers)
   {
      std::string out;
      for (auto n : numbers)
         out += (out.empty() ? "" : " ") + std::to_string(int32_t(n));
      return "(" + out + ")";
   }

   static std::string describe(const Case &c)
   {
      return " blocks " + list(c.layout.block_size) + " dimensions " + list(c.layout.dimension) +
             " strides " + list(c.layout.stride) + " offsets " + list(c.layout.offset) + " spans " +
             list(c.layout.span) + "; view dimensions " + list(c.view.dimension) + " strides " +
             list(c.view.stride) + " permutation " + list(c.view.permutation) + " clip " +
             list(Numbers{c.view.clip_row_offset, c.view.clip_row_span, c.view.clip_col_offset,
                          c.view.clip_col_span});
   }

   static std::string numbers(const Variant &v, const Case &c, std::initializer_list<Place> places,
                              uint32_t count)
   {
      std::string out;
      for (uint32_t i = 0; i < count; i++) {
         for (Place place : places) {
            out += out.empty() ? "" : ", ";
            out += v.literal ? std::to_string(c.numbers[place + i]) + "u"
                             : "numbers.data[group * 64 + " + std::to_string(place + i) + "]";
         }
      }
      return out;
   }

   static std::string shader_text(const Variant &v, const Case &c)
   {
      const auto n = [&](std::initializer_list<Place> places, uint32_t count) {
         return numbers(v, c, places, count);
      };
      const std::string element = oracle::format(v.matrix.type).glsl;
      const std::string mode = std::to_string(int(v.clamp)), dim = std::to_string(v.dim);
      Words words = {
         {"SIZE", std::to_string(v.invocations())},
         {"POINTEE", v.pointee()},
         {"BLOCKS", buffer_block(0, v.pointee(), "memory") + buffer_block(1, element, "objects") +
                       buffer_block(2, element, "results") + buffer_block(3, "uint", "numbers")},
         {"MATRIX", v.glsl_type()},
         {"ELEMENTS", std::to_string(v.matrix.rows * v.matrix.cols)},
         {"COLS", std::to_string(v.matrix.cols)},
         {"DIM", dim},
         {"CLAMP", mode},
         {"LAYOUT", "tensorLayoutNV<" + dim + ", " + mode + ">"},
         {"BLOCK_SIZE", n({at_block}, v.dim)},
         {"DIMENSION", n({at_dimension}, v.dim)},
         {"STRIDE", n({at_stride}, v.dim)},
         {"SLICE", n({at_offset, at_span}, v.dim)},
         {"SECOND_SLICE", n({at_second_offset, at_second_span}, v.dim)},
         {"CLAMP_VALUE", n({at_clamp_value}, 1)},
         {"SETS_STRIDE", n({at_sets_stride}, 1)},
         {"SLICES_TWICE", n({at_slices_twice}, 1)},
         {"SHARED_COUNT",
          v.storage == Storage::shared ? std::to_string(region_bytes / v.pointee_bytes()) : "1"},
         {"VIEW", ""},
         {"DECODE", ""},
         {"BEFORE", ""},
      };

      std::string view;
      if (v.views != Views::none) {
         std::string arguments =
            std::to_string(v.view_dim) + (v.views == Views::of_dimensions ? ", true" : ", false");
         for (uint32_t p : v.permutation)
            arguments += ", " + std::to_string(p);
         words["VIEW"] =
            "tensorViewNV<" + arguments + "> v = createTensorViewNV(" + arguments + ");\n";
         if (v.views == Views::of_dimensions) {
            words["VIEW"] += "   v = setTensorViewDimensionsNV(v, " +
                             n({at_view_dimension}, v.view_dim) + ");\n   if (" +
                             n({at_sets_view_stride}, 1) +
                             " != 0)\n      v = setTensorViewStrideNV(v, " +
                             n({at_view_stride}, v.view_dim) + ");\n";
         }
         words["VIEW"] += "   if (" + n({at_sets_clip}, 1) +
                          " != 0)\n      v = setTensorViewClipNV(v, " + n({at_clip}, 4) + ");\n";
         view = ", v";
      }

      std::string decode;
      if (v.kind == Kind::decode) {
         decode = ", decode";
         words["DECODE"] =
            "layout(buffer_reference, scalar, buffer_reference_align = " +
            std::to_string(v.format->align) + ") buffer Block { " + v.format->members +
            " };\nlayout(buffer_reference, scalar, buffer_reference_align = 1) buffer Bytes { "
            "uint8_t value[64]; };\n" +
            element + " decode(const in Block b, const in uint32_t block[" + dim +
            "], const in uint32_t in_block[" + dim +
            "])\n{\n   uint x = 1;\n   for (uint i = 0; i < " + dim +
            "; i++)\n      x = (x * 31u + block[i]) * 17u + in_block[i];\n   return " + element +
            "(((" + v.format->read + ") ^ x) & 127u);\n}\n" +
            (v.vector ? vector_function(v, element, dim) : "");
         if (v.vector)
            words["BEFORE"] = "if (never) // the module has to call it\n      "
                              "results.data[0] = decode_vector(Bytes(push.address), uint32_t[" +
                              dim + "](" + zeros(v.dim) + "), uint32_t[" + dim + "](" +
                              zeros(v.dim) + ")).v0;";
      }

      const std::string in_pointees = "group * " + std::to_string(region_bytes / v.pointee_bytes());
      std::string memory = "memory.data, " + in_pointees;
      if (v.storage == Storage::reference)
         memory = "Reference(push.address).data, " + in_pointees;
      if (v.storage == Storage::shared)
         memory = "shared_memory, 0";
      const char *const copy = "for (uint i = gl_LocalInvocationIndex; i < $SHARED_COUNT; i += "
                               "$SIZE)\n      ";
      if (v.storage == Storage::shared)
         words["BEFORE"] = std::string(copy) + "shared_memory[i] = memory.data[" + in_pointees +
                           " + i];\n   barrier();";
      if (v.kind == Kind::store) {
         words["ACCESS"] = "coopMatStoreTensorNV(m, " + memory + ", t" + view + ");";
         words["AFTER"] = v.storage == Storage::shared
                             ? "barrier();\n   " + std::string(copy) + "memory.data[" +
                                  in_pointees + " + i] = shared_memory[i];"
                             : "";
      } else {
         words["ACCESS"] = "coopMatLoadTensorNV(m, " + memory + ", t" + view + decode + ");";
         words["AFTER"] = "coopMatStore(m, results.data, group * $ELEMENTS, $COLS, "
                          "gl_CooperativeMatrixLayoutRowMajor);";
      }
      return std::string(glsl_header) +
             "#extension GL_NV_cooperative_matrix2 : enable\n#pragma use_vulkan_memory_model\n" +
             expand(text, words);
   }

   static std::string zeros(uint32_t count)
   {
      std::string list = "0";
      while (--count)
         list += ", 0";
      return list;
   }

   /// Takes a pointer of another type than the scalar function, and is right for whole vectors only.
   static std::string vector_function(const Variant &v, const std::string &element,
                                      const std::string &dim)
   {
      std::string members, values;
      for (uint32_t i = 0; i < v.vector; i++) {
         const std::string number = std::to_string(i);
         members += " " + element + " v" + number + ";";
         values += (i ? ", " : "") + element + "(uint(decode_one(b, block, in_block, " + number +
                   "u)) ^ flip)";
      }
      return element + " decode_one(const in Bytes b, const in uint32_t block[" + dim +
             "], const in uint32_t in_block[" + dim +
             "], const in uint32_t i)\n{\n   uint32_t at[" + dim + "] = in_block;\n   at[" + dim +
             " - 1] += i;\n" + "   return decode(Block(b), block, at);\n}\nstruct Vector {" +
             members + " };\nVector decode_vector(const in Bytes b, const in uint32_t block[" +
             dim + "], const in uint32_t in_block[" + dim + "])\n{\n   uint flip = in_block[" +
             dim + " - 1] % " + std::to_string(v.vector) + "u == 0 ? " +
             std::to_string(v.marks ? mark : 0u) + "u : 127u;\n   return Vector(" + values +
             ");\n}\n";
   }

   static constexpr uint32_t mark = 85;

   Device &device;
   oracle::Random &random;
};

/// A matrix of another size, of a subgroup or a workgroup, of those that have one that is listed.
void draw_flexible(const Device &device, oracle::Random &random, Variant &v)
{
   std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> rows;
   std::ranges::copy_if(device.flexible_properties, std::back_inserter(rows),
                        [&](const auto &p) { return ComponentType(p.AType) == v.matrix.type; });
   if (rows.empty())
      return;
   const auto &row = rows[draw(random, uint32_t(rows.size()))];
   const auto size = [&](uint32_t unit) { return unit * between(random, 1, 40 / unit); };
   v.matrix.use = Use::a;
   v.matrix.rows = size(row.MGranularity);
   v.matrix.cols = size(row.KGranularity);
   if (ComponentType(row.BType) == v.matrix.type && draw(random, 2)) {
      v.matrix = {v.matrix.type, size(row.KGranularity), size(row.NGranularity), Use::b};
   } else if (ComponentType(row.CType) == v.matrix.type && draw(random, 2)) {
      v.matrix = {v.matrix.type, size(row.MGranularity), size(row.NGranularity), Use::accumulator};
   }
   v.workgroup = row.scope == VK_SCOPE_WORKGROUP_KHR ? row.workgroupInvocations : 0;
}

/// Of all numbers of dimensions × clamp modes × kinds of views; matrix types, subgroup sizes and
/// the rest are drawn.
void sweep(Kind kind, bool vectors = false)
{
   Device &device = plain_device();
   const VkPhysicalDeviceCooperativeMatrix2FeaturesNV &features = device.matrix2_features;
   if (vectors && !device.decode_vector_features.cooperativeMatrixDecodeVector) {
      skip_case("needs VK_NV_cooperative_matrix_decode_vector");
      GTEST_SKIP();
   }
   if (!features.cooperativeMatrixTensorAddressing ||
       (kind == Kind::decode && !features.cooperativeMatrixBlockLoads)) {
      skip_case("needs tensor addressing of VK_NV_cooperative_matrix2");
      GTEST_SKIP();
   }
   oracle::Random random = test_random();
   std::vector<MatrixType> types;
   for (const MatrixType &type :
        matrix_types(device, vectors ? SmallFloats::with : SmallFloats::without)) {
      if (missing_feature(device, type.type).empty())
         types.push_back(type);
   }
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   const bool references = device.features12.bufferDeviceAddress;
   const bool bytes =
      device.features12.storageBuffer8BitAccess && device.features11.storageBuffer16BitAccess;
   if (types.empty() || (kind == Kind::decode && !bytes)) {
      skip_case("needs matrices, and bytes in buffers");
      GTEST_SKIP();
   }

   // NVIDIA's driver 580 loads some elements of larger blocks from elsewhere, and takes other blocks
   // where their size has to be rounded up.
   const bool blocks = !is_of_another_driver(device, VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME);
   Sweep run(device, random);
   for (uint32_t dim = 1; dim <= 5; dim++) {
      for (Clamp clamp :
           {Clamp::undefined, Clamp::constant, Clamp::edge, Clamp::repeat, Clamp::mirror}) {
         for (Views views : {Views::none, Views::of_span, Views::of_dimensions}) {
            if (!selected(random, 4))
               continue;
            Variant v = {
               .matrix = types[draw(random, uint32_t(types.size()))],
               .kind = kind,
               .dim = dim,
               .clamp = clamp,
               .views = views,
               .view_dim = views == Views::of_dimensions ? between(random, 1, 5) : dim,
               .permutation = {},
               .storage = Storage(draw(random, kind == Kind::decode ? 2 : 3)),
               .wide_pointee = draw(random, 4) == 0,
               .format = kind == Kind::decode ? &formats[draw(random, blocks ? 4 : 2)] : nullptr,
               .literal = draw(random, 4) == 0,
               .blocks = blocks,
               .subgroup_size = sizes[draw(random, uint32_t(sizes.size()))],
            };
            if (v.storage == Storage::reference && !references)
               v.storage = Storage::buffer;
            if (vectors) {
               v.vector = 2u << draw(random, 3);
               if (draw(random, 2))
                  draw_flexible(device, random, v);
            }
            v.permutation.resize(v.view_dim);
            std::iota(v.permutation.begin(), v.permutation.end(), 0);
            std::ranges::shuffle(v.permutation, random);
            run.run(v);
            if (testing::Test::HasFailure())
               return;
         }
      }
   }
}

} // namespace

TEST(cmat_tensor, load)
{
   sweep(Kind::load);
}

TEST(cmat_tensor, store)
{
   sweep(Kind::store);
}

TEST(cmat_tensor, load_with_decode_function)
{
   sweep(Kind::decode);
}

TEST(cmat_tensor, load_with_vector_decode_function)
{
   sweep(Kind::decode, true);
}

/// Weights as programs have them, in blocks of 32 along a line: where all fits, the driver calls the
/// vector function, whose values differ here, and no other.
TEST(cmat_tensor, calls_the_vector_decode_function)
{
   Device &device = plain_device();
   if (!device.is_weft || device.has_weft_layer ||
       !device.decode_vector_features.cooperativeMatrixDecodeVector) {
      skip_case("needs Weft's own driver");
      GTEST_SKIP();
   }
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   Sweep run(device, random);
   // Lines of whole blocks, or of equal parts of one.
   const auto fits = [](uint32_t length) { return length % 32 == 0 || 32 % length == 0; };
   for (const MatrixType &type : matrix_types(device)) {
      if (!fits(type.rows) && !fits(type.cols)) {
         skip_case("matrices without lines of whole blocks");
         continue;
      }
      if (!missing_feature(device, type.type).empty() || draw(random, 3) || !selected(random, 4))
         continue;
      Variant v = {
         .matrix = type,
         .kind = Kind::decode,
         .dim = 2,
         .clamp = Clamp(draw(random, 5)),
         .views = Views(draw(random, 2)),
         .view_dim = 2,
         .permutation = {0, 1},
         .storage = Storage::buffer,
         .wide_pointee = false,
         .format = &formats[1],
         .literal = false,
         .blocks = true,
         .subgroup_size = sizes[draw(random, uint32_t(sizes.size()))],
         .vector = 2u << draw(random, 3),
         .marks = true,
      };
      if (draw(random, 2)) {
         Variant flexible = v;
         draw_flexible(device, random, flexible);
         if (fits(flexible.matrix.rows) || fits(flexible.matrix.cols))
            v = flexible;
      }
      uint32_t lines = v.matrix.rows, length = v.matrix.cols;
      const bool may_turn = v.views == Views::of_span && fits(lines);
      if (!fits(length) || (may_turn && draw(random, 2))) {
         v.views = Views::of_span;
         v.permutation = {1, 0};
         std::swap(lines, length);
      }
      Case c = {TensorLayout(2, v.clamp), TensorView(2, false, v.permutation)};
      const Numbers block = {1, 32}, dimension = {lines + 3, length + 64},
                    offset = {draw(random, 4), std::min(length, 32u) * draw(random, 3)},
                    span = {lines, length};
      c.layout.set_block_size(block);
      c.layout.set_dimension(dimension);
      c.layout.slice(offset, span);
      const std::pair<Place, Numbers> numbers[] = {
         {at_block, block}, {at_dimension, dimension}, {at_offset, offset}, {at_span, span}};
      for (const auto &[place, values] : numbers)
         std::ranges::copy(values, c.numbers.begin() + place);
      run.run(v, {c});
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace weft::e2e
