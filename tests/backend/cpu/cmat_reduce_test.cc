// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares reductions of matrices with scalar loops, as tiles and as registers, in every subgroup
/// size. The functions are sums, maxima, and one that neither commutes nor associates. It must give
/// all elements of a line the same value.

#include "tests/backend/cpu/seed.h"
#include "tests/e2e/glsl.h"
#include "tests/oracle/random.h"
#include "tools/runner/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace weft::cpu {
namespace {

using enum ComponentType;

struct Type {
   const char *glsl;
   ComponentType ab, component;
   uint32_t bytes;
};
constexpr Type types[] = {{"float", f16, f32, 4}, {"float16_t", f16, f16, 2}, {"int", s8, s32, 4}};

struct Size {
   uint32_t rows, cols;
};

enum class Over { rows, columns, all, quads };
const char *const names[] = {"Row", "Column", "RowAndColumn", "2x2"};

int read(const std::byte *bytes, const Type &type)
{
   if (type.component == f16) {
      _Float16 h;
      memcpy(&h, bytes, 2);
      return int(h);
   }
   if (type.component == f32) {
      float f;
      memcpy(&f, bytes, 4);
      return int(f);
   }
   int32_t i;
   memcpy(&i, bytes, 4);
   return i;
}

void write(std::byte *bytes, int number, const Type &type)
{
   const _Float16 h = _Float16(number);
   const float f = float(number);
   if (type.component == f16)
      memcpy(bytes, &h, 2);
   else if (type.component == f32)
      memcpy(bytes, &f, 4);
   else
      memcpy(bytes, &number, 4);
}

/// Some read and write the same matrix; one calls a function that reads a buffer and changes a
/// private variable.
const std::string text = R"(
   layout(local_size_x = $W) in;
   layout(binding = 0) buffer Source { $T source[]; };
   layout(binding = 1) buffer Sums { $T sums[]; };
   layout(binding = 2) buffer Maxima { $T maxima[]; };
   layout(binding = 3) buffer Ordered { $T ordered[]; };
   layout(binding = 4) buffer Counts { uint counts[]; };
   uint calls = 3;
   $T sum(const in $T x, const in $T y) { return x + y; }
   $T larger(const in $T x, const in $T y) {
      calls += counts[gl_LocalInvocationIndex];
      if (x > y) return x;
      return y;
   }
   $T order(const in $T x, const in $T y) { return y - sum(x, x); }
   #define MATRIX(height, width) coopmat<$T, gl_ScopeSubgroup, height, width, gl_MatrixUseAccumulator>
   void main() {
      MATRIX($ROWS, $COLS) m;
      MATRIX($TO_ROWS, $TO_COLS) r;
      coopMatLoad(m, source, 0, $COLS, gl_CooperativeMatrixLayoutRowMajor);
      coopMatReduceNV(r, m, $OVER, larger);
      coopMatStore(r, maxima, 0, $TO_COLS, gl_CooperativeMatrixLayoutRowMajor);
      coopMatReduceNV(r, m, $OVER, order);
      coopMatStore(r, ordered, 0, $TO_COLS, gl_CooperativeMatrixLayoutRowMajor);
      $SUM
      counts[gl_LocalInvocationIndex] = calls;
   })";
const std::string to_itself = R"(
      coopMatReduceNV(m, m, $OVER, sum);
      coopMatStore(m, sums, 0, $TO_COLS, gl_CooperativeMatrixLayoutRowMajor);)";
const std::string to_another = R"(
      coopMatReduceNV(r, m, $OVER, sum);
      coopMatStore(r, sums, 0, $TO_COLS, gl_CooperativeMatrixLayoutRowMajor);)";

void check(const Type &type, Size from, Size to, Over over, const runner::Path &path,
           oracle::Random &random)
{
   const auto number = [](uint32_t n) { return std::to_string(n); };
   const bool same_size = from.rows == to.rows && from.cols == to.cols;
   const e2e::Words words = {
      {"W", number(path.subgroup_size)},
      {"T", type.glsl},
      {"ROWS", number(from.rows)},
      {"COLS", number(from.cols)},
      {"TO_ROWS", number(to.rows)},
      {"TO_COLS", number(to.cols)},
      {"OVER", "gl_CooperativeMatrixReduce" + std::string(names[int(over)]) + "NV"}};
   std::string parts = text;
   parts.replace(parts.find("$SUM"), 4, same_size ? to_itself : to_another);
   const std::string shader = e2e::expand(parts, words);
   const std::vector<uint32_t> spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + shader);

   std::vector<int> source(from.rows * from.cols);
   std::vector<std::byte> bytes(source.size() * type.bytes);
   for (size_t i = 0; i < source.size(); ++i) {
      source[i] = int(oracle::draw(random, 9)) - 4;
      write(&bytes[i * type.bytes], source[i], type);
   }
   runner::Dispatch dispatch = {{spirv, "main", {}}, {{{0, 0}, bytes}}, {}};
   const uint32_t elements = to.rows * to.cols;
   for (uint32_t binding : {1, 2, 3})
      dispatch.buffers.push_back(
         {{0, binding}, std::vector<std::byte>(elements * type.bytes, std::byte(0x7b))});
   std::vector<std::byte> ones(path.subgroup_size * 4);
   for (size_t i = 0; i < ones.size(); i += 4)
      ones[i] = std::byte(1);
   dispatch.buffers.push_back({{0, 4}, ones});
   runner::CompileOptions options;
   options.matrices = MatrixSupport{};
   const MatrixOperation any = {8, 8, 8, type.ab, type.ab, type.component, type.component, false};
   options.matrices->flexible.push_back({any, 256, path.subgroup_size});
   const auto result = runner::run(dispatch, path, options);
   ASSERT_TRUE(result) << result.error().message << shader;

   const auto reduced = [&](uint32_t row, uint32_t col, int value, const auto &combine) {
      const bool whole_rows = over == Over::rows || over == Over::all,
                 whole_columns = over == Over::columns || over == Over::all;
      const uint32_t top = whole_columns         ? 0
                           : over == Over::quads ? 2 * row
                                                 : row,
                     left = whole_rows            ? 0
                            : over == Over::quads ? 2 * col
                                                  : col,
                     height = whole_columns         ? from.rows
                              : over == Over::quads ? 2
                                                    : 1,
                     width = whole_rows            ? from.cols
                             : over == Over::quads ? 2
                                                   : 1;
      for (uint32_t r = top; r < top + height; ++r) {
         for (uint32_t c = left; c < left + width; ++c)
            value = combine(value, source[r * from.cols + c]);
      }
      return value;
   };
   for (uint32_t i = 0; i < path.subgroup_size; ++i) {
      uint32_t calls;
      memcpy(&calls, &(*result)[4].bytes[i * 4], 4);
      ASSERT_GT(calls, 3u) << "invocation " << i << shader;
   }
   const auto at = [&](unsigned buffer, uint32_t row, uint32_t col) {
      return &(*result)[buffer].bytes[(row * to.cols + col) * type.bytes];
   };
   for (uint32_t row = 0; row < to.rows; ++row) {
      for (uint32_t col = 0; col < to.cols; ++col) {
         const std::string where = "row " + number(row) + ", column " + number(col) + shader;
         ASSERT_EQ(read(at(1, row, col), type), reduced(row, col, 0, std::plus())) << where;
         ASSERT_EQ(read(at(2, row, col), type),
                   reduced(row, col, -9, [](int x, int y) { return std::max(x, y); }))
            << where;
         const uint32_t first_row = over == Over::columns || over == Over::all ? 0 : row,
                        first_col = over == Over::rows || over == Over::all ? 0 : col;
         ASSERT_EQ(memcmp(at(3, row, col), at(3, first_row, first_col), type.bytes), 0) << where;
      }
   }
}

class CmatReduce : public testing::TestWithParam<runner::Path> {};

TEST_P(CmatReduce, AgainstScalarLoops)
{
   oracle::Random random(test::test_seed());
   const bool in_registers = GetParam().matrices == runner::Matrices::registers;
   for (const Size size : {Size{8, 8}, Size{16, 16}, Size{8, 48}, Size{24, 16}, Size{40, 80}}) {
      /* Code for registers grows with the number of elements. */
      if (in_registers && size.rows * size.cols > 24 * 16)
         continue;
      for (const Over over : {Over::rows, Over::columns, Over::all, Over::quads}) {
         const bool halves = size.rows % 16 == 0 && size.cols % 16 == 0;
         if (over == Over::quads ? !halves : oracle::draw(random, 2) == 0)
            continue;
         const Type &type = types[oracle::draw(random, std::size(types))];
         Size to = size;
         const bool changes = oracle::draw(random, 2) == 1;
         if (over == Over::quads)
            to = {size.rows / 2, size.cols / 2};
         else if (changes && over != Over::columns)
            to.cols = over == Over::rows ? 32 : 8;
         if (changes && (over == Over::columns || over == Over::all))
            to.rows = 16;
         check(type, size, to, over, GetParam(), random);
         if (HasFatalFailure())
            return;
      }
   }
   /* So many components that the code loops over them. */
   if (in_registers && GetParam().subgroup_size == 8)
      check(types[0], {64, 64}, {64, 16}, Over::rows, GetParam(), random);
   if (in_registers && GetParam().subgroup_size == 16)
      check(types[2], {64, 64}, {64, 64}, Over::columns, GetParam(), random);
}

std::vector<runner::Path> paths()
{
   std::vector<runner::Path> list;
   for (const auto matrices : {runner::Matrices::tiles, runner::Matrices::registers}) {
      for (const uint32_t W : {8, 16, 32, 64}) {
         runner::Path path;
         path.matrices = matrices;
         path.subgroup_size = W;
         list.push_back(path);
      }
   }
   return list;
}

INSTANTIATE_TEST_SUITE_P(Paths, CmatReduce, testing::ValuesIn(paths()), [](const auto &info) {
   return std::string(info.param.matrices == runner::Matrices::tiles ? "tiles" : "registers") +
          "_of_" + std::to_string(info.param.subgroup_size);
});

} // namespace
} // namespace weft::cpu
