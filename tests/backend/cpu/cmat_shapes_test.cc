// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares matrices of shapes without a kernel with scalar loops. They are cut into tiles and
/// padded, or become registers. Numbers are small integers, which every type has exactly.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <cstring>

namespace weft::cpu {
namespace {

using enum ComponentType;
using Words = e2e::Words;

struct Types {
   const char *name;
   ComponentType ab, c;
   std::string ab_glsl, c_glsl;
};

const Types f16_f32 = {"f16_f32", f16, f32, "float16_t", "float"},
            f16_f16 = {"f16_f16", f16, f16, "float16_t", "float16_t"},
            s8_s32 = {"s8_s32", s8, s32, "int8_t", "int"};

struct Case {
   uint32_t m, n, k;
   Types types;
   uint32_t subgroup_size;
   runner::Matrices matrices;
};

std::string case_name(const testing::TestParamInfo<Case> &info)
{
   const Case &c = info.param;
   return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + "_" +
          c.types.name + "_" + std::to_string(c.subgroup_size) +
          (c.matrices == runner::Matrices::tiles ? "_tiles" : "_registers");
}

/// Padding that is not 0, or NaN, would show in the sums: it is written by loops over components,
/// by a constructor, and by a division of itself.
const std::string shader = R"(
   layout(local_size_x = $W) in;
   layout(binding = 0) buffer ABuffer { $AB a_memory[]; };
   layout(binding = 1) buffer BBuffer { $AB b_memory[]; };
   layout(binding = 2) buffer CBuffer { $C c_memory[]; };
   layout(binding = 3) buffer DBuffer { $C d_memory[]; };
   const int rows = gl_CooperativeMatrixLayoutRowMajor;
   const int columns = gl_CooperativeMatrixLayoutColumnMajor;
   #define A coopmat<$AB, gl_ScopeSubgroup, $M, $K, gl_MatrixUseA>
   #define B coopmat<$AB, gl_ScopeSubgroup, $K, $N, gl_MatrixUseB>
   #define C coopmat<$C, gl_ScopeSubgroup, $M, $N, gl_MatrixUseAccumulator>
   void main() {
      A a;
      B b;
      C c[2];
      coopMatLoad(a, a_memory, 3, $K + 2, rows);
      coopMatLoad(b, b_memory, 1, $K + 1, columns);
      for (int i = 0; i < a.length(); ++i)
         a[i] = a[i] + $AB(1);
      a = a + a / a;
      b = (b + B($AB(2))) - B($AB(1));
      b = b * $AB(2);
      coopMatLoad(c[0], c_memory, 2, $M + 3, columns);
      c[1] = C($C(5));
      for (uint i = 0; i < 2 + gl_WorkGroupID.x; ++i)
         c[i] = coopMatMulAdd(a, b, c[i]);
      for (int i = 0; i < c[1].length(); ++i)
         c[1][i] *= $C(2);
      coopMatStore(c[0], d_memory, 1, $N + 2, rows);
      coopMatStore(c[1], d_memory, $SECOND, $M + 1, columns);
   })";

double to_number(const std::byte *bytes, ComponentType type)
{
   if (type == f16) {
      _Float16 h;
      memcpy(&h, bytes, sizeof(h));
      return double(h);
   }
   if (type == f32) {
      float f;
      memcpy(&f, bytes, sizeof(f));
      return f;
   }
   int32_t i;
   memcpy(&i, bytes, sizeof(i));
   return i;
}

/// A sum in a type, rounded once.
double rounded(int sum, ComponentType type)
{
   return type == f16 ? double(_Float16(sum)) : sum;
}

/// A small integer in a type.
void put(std::vector<std::byte> &bytes, size_t index, int number, ComponentType type)
{
   if (type == s8) {
      bytes[index] = std::byte(number);
   } else if (type == f16) {
      const _Float16 h = _Float16(number);
      memcpy(&bytes[index * 2], &h, 2);
   } else if (type == f32) {
      const float f = float(number);
      memcpy(&bytes[index * 4], &f, 4);
   } else {
      memcpy(&bytes[index * 4], &number, 4);
   }
}

class CmatShapes : public testing::TestWithParam<Case> {};

TEST_P(CmatShapes, MultiplyAdd)
{
   const Case &p = GetParam();
   const uint32_t second = 1 + p.m * (p.n + 2) + 7, size = second + p.n * (p.m + 1) + 5;
   const auto number = [](uint32_t n) { return std::to_string(n); };
   const std::vector<uint32_t> spirv =
      e2e::compile_glsl(e2e::glsl_header + e2e::expand(shader, {{"W", number(p.subgroup_size)},
                                                                {"M", number(p.m)},
                                                                {"N", number(p.n)},
                                                                {"K", number(p.k)},
                                                                {"AB", p.types.ab_glsl},
                                                                {"C", p.types.c_glsl},
                                                                {"SECOND", number(second)}}));

   const auto a = [](uint32_t row, uint32_t k) { return int(row * 5 + k * 3) % 4 + 1; };
   const auto b = [](uint32_t k, uint32_t col) { return int(k * 7 + col) % 5 - 2; };
   const auto c = [](uint32_t row, uint32_t col) { return int(row + col * 3) % 9 - 4; };
   runner::Dispatch dispatch = {{spirv, "main", {}}, {}, {}};
   const uint32_t ab_bytes = component_bits(p.types.ab) / 8,
                  cd_bytes = component_bits(p.types.c) / 8;
   std::vector<std::byte> a_memory((3 + p.m * (p.k + 2)) * ab_bytes),
      b_memory((1 + p.n * (p.k + 1)) * ab_bytes), c_memory((2 + p.n * (p.m + 3)) * cd_bytes),
      d_memory(size * cd_bytes, std::byte(0x7b));
   for (uint32_t k = 0; k < p.k; ++k) {
      for (uint32_t row = 0; row < p.m; ++row)
         put(a_memory, 3 + row * (p.k + 2) + k, a(row, k), p.types.ab);
      for (uint32_t col = 0; col < p.n; ++col)
         put(b_memory, 1 + col * (p.k + 1) + k, b(k, col), p.types.ab);
   }
   for (uint32_t row = 0; row < p.m; ++row) {
      for (uint32_t col = 0; col < p.n; ++col)
         put(c_memory, 2 + col * (p.m + 3) + row, c(row, col), p.types.c);
   }
   const std::vector<std::byte> before = d_memory;
   dispatch.buffers = {
      {{0, 0}, a_memory}, {{0, 1}, b_memory}, {{0, 2}, c_memory}, {{0, 3}, d_memory}};

   /* Every size of the test. */
   const MatrixOperation any = {1, 1, 1, p.types.ab, p.types.ab, p.types.c, p.types.c, false};
   runner::CompileOptions options;
   options.matrices = MatrixSupport{{}, {{any, 1024}}};
   const auto result =
      runner::run(dispatch, {.matrices = p.matrices, .subgroup_size = p.subgroup_size}, options);
   ASSERT_TRUE(result) << result.error().message;

   const std::vector<std::byte> &d = (*result)[3].bytes;
   std::vector<bool> written(size);
   for (uint32_t row = 0; row < p.m; ++row) {
      for (uint32_t col = 0; col < p.n; ++col) {
         int product = 0;
         for (uint32_t k = 0; k < p.k; ++k)
            product += (a(row, k) + 2) * (b(k, col) + 1) * 2;
         const uint32_t first = 1 + row * (p.n + 2) + col, other = second + col * (p.m + 1) + row;
         ASSERT_EQ(to_number(&d[first * cd_bytes], p.types.c),
                   rounded(c(row, col) + product, p.types.c))
            << "row " << row << ", column " << col;
         ASSERT_EQ(to_number(&d[other * cd_bytes], p.types.c), rounded(5 + product, p.types.c) * 2)
            << "row " << row << ", column " << col << ", by columns";
         written[first] = written[other] = true;
      }
   }
   for (uint32_t i = 0; i < size; ++i) {
      EXPECT_TRUE(written[i] || memcmp(&d[i * cd_bytes], &before[i * cd_bytes], cd_bytes) == 0)
         << "element " << i << " was not to be written";
   }
}

/// Operations on single elements. An accumulator becomes A and B, whose product shows whether their
/// padding is 0. Sums of rows, of columns and of all elements go into one matrix, of another shape
/// if possible.
const std::string elements_shader = R"(
   layout(local_size_x = $W) in;
   layout(binding = 0) buffer CBuffer { $C c_memory[]; };
   layout(binding = 1) buffer DBuffer { $C d_memory[]; };
   layout(binding = 2) buffer EBuffer { $C e_memory[]; };
   layout(binding = 3) buffer FBuffer { $AB f_memory[]; };
   const int rows = gl_CooperativeMatrixLayoutRowMajor;
   #define C coopmat<$C, gl_ScopeSubgroup, $M, $N, gl_MatrixUseAccumulator>
   #define SQUARE coopmat<$C, gl_ScopeSubgroup, $M, $M, gl_MatrixUseAccumulator>
   #define A coopmat<$AB, gl_ScopeSubgroup, $M, $N, gl_MatrixUseA>
   #define B coopmat<$AB, gl_ScopeSubgroup, $N, $M, gl_MatrixUseB>
   $C sum(const in $C x, const in $C y) { return x + y; }
   $C place(const in uint row, const in uint col, const in $C x, const in $C y) {
      return row > col ? x + y * $C(2) : x * $C(row) - $C(col);
   }
   void main() {
      C c, by_row, by_column;
      SQUARE all, e = SQUARE(1);
      B b;
      coopMatLoad(c, c_memory, 0, $N, rows);
      A a = A(c);
      coopMatTransposeNV(b, c);
      coopMatStore(coopMatMulAdd(a, b, e), e_memory, 0, $M, rows);
      coopMatStore(a, f_memory, 0, $N, rows);
      coopMatReduceNV(by_row, c, gl_CooperativeMatrixReduceRowNV, sum);
      coopMatReduceNV(by_column, c, gl_CooperativeMatrixReduceColumnNV, sum);
      coopMatReduceNV(all, c, gl_CooperativeMatrixReduceRowAndColumnNV, sum);
      by_row = by_row + by_column * $C(3);
      coopMatPerElementNV(c, c, place, by_row);
      coopMatStore(c, d_memory, 0, $N, rows);
      coopMatStore(all, d_memory, $M * $N, $M, rows);
   })";

class CmatElements : public CmatShapes {};

TEST_P(CmatElements, Elements)
{
   const Case &p = GetParam();
   const auto number = [](uint32_t n) { return std::to_string(n); };
   const std::vector<uint32_t> spirv = e2e::compile_glsl(
      e2e::glsl_header + e2e::expand(elements_shader, {{"W", number(p.subgroup_size)},
                                                       {"M", number(p.m)},
                                                       {"N", number(p.n)},
                                                       {"AB", p.types.ab_glsl},
                                                       {"C", p.types.c_glsl}}));
   const auto c = [](uint32_t row, uint32_t col) { return int(row * 3 + col * 5) % 7 - 3; };
   const uint32_t ab_bytes = component_bits(p.types.ab) / 8;
   std::vector<std::byte> c_memory(p.m * p.n * 4), d_memory((p.m * p.n + p.m * p.m) * 4),
      e_memory(p.m * p.m * 4), f_memory(p.m * p.n * ab_bytes);
   for (uint32_t i = 0; i < p.m * p.n; ++i)
      put(c_memory, i, c(i / p.n, i % p.n), p.types.c);
   runner::Dispatch dispatch = {{spirv, "main", {}}, {}, {}};
   dispatch.buffers = {
      {{0, 0}, c_memory}, {{0, 1}, d_memory}, {{0, 2}, e_memory}, {{0, 3}, f_memory}};
   const MatrixOperation any = {1, 1, 1, p.types.ab, p.types.ab, p.types.c, p.types.c, false};
   runner::CompileOptions options;
   options.matrices = MatrixSupport{{}, {{any, 1024}}};
   const auto result =
      runner::run(dispatch, {.matrices = p.matrices, .subgroup_size = p.subgroup_size}, options);
   ASSERT_TRUE(result) << result.error().message;

   std::vector<int> row_sums(p.m), column_sums(p.n);
   int total = 0;
   for (uint32_t row = 0; row < p.m; ++row) {
      for (uint32_t col = 0; col < p.n; ++col) {
         row_sums[row] += c(row, col);
         column_sums[col] += c(row, col);
         total += c(row, col);
      }
   }
   const auto &buffers = *result;
   const auto is = [&](uint32_t buffer, size_t index) {
      return to_number(&buffers[buffer].bytes[index * 4], p.types.c);
   };
   for (uint32_t row = 0; row < p.m; ++row) {
      for (uint32_t col = 0; col < p.n; ++col) {
         const int y = row_sums[row] + 3 * column_sums[col], x = c(row, col);
         ASSERT_EQ(is(1, row * p.n + col), row > col ? x + y * 2 : x * int(row) - int(col))
            << "row " << row << ", column " << col;
         std::vector<std::byte> expected(ab_bytes);
         put(expected, 0, x, p.types.ab);
         ASSERT_EQ(
            memcmp(expected.data(), &buffers[3].bytes[(row * p.n + col) * ab_bytes], ab_bytes), 0)
            << "row " << row << ", column " << col << " as A";
      }
      for (uint32_t col = 0; col < p.m; ++col) {
         int product = 1;
         for (uint32_t k = 0; k < p.n; ++k)
            product += c(row, k) * c(col, k);
         ASSERT_EQ(is(2, row * p.m + col), product) << "row " << row << ", column " << col;
         ASSERT_EQ(is(1, p.m * p.n + row * p.m + col), total);
      }
   }
}

std::vector<Case> cases()
{
   constexpr uint32_t shapes[][3] = {{32, 32, 32}, {16, 16, 64}, {20, 12, 24}, {5, 3, 7},
                                     {40, 8, 16},  {16, 16, 20}, {1, 1, 1},    {33, 17, 47}};
   std::vector<Case> list;
   for (const auto &[m, n, k] : shapes) {
      for (const Types &types : {f16_f32, s8_s32}) {
         for (const uint32_t W : {8, 32, 64})
            list.push_back({m, n, k, types, W, runner::Matrices::tiles});
         /* In registers only small matrices with an even K: code grows with the elements of an
          * invocation, and each invocation holds the part that does not divide. */
         if (m * n * k <= 32 * 32 * 32 && k % 2 == 0)
            list.push_back({m, n, k, types, 32, runner::Matrices::registers});
      }
   }
   /* Loops over tiles, and over components. */
   using enum runner::Matrices;
   list.push_back({256, 256, 256, f16_f32, 32, tiles});
   list.push_back({1024, 1024, 40, f16_f32, 8, tiles});
   list.push_back({248, 136, 56, f16_f32, 8, tiles});
   list.push_back({136, 248, 120, s8_s32, 64, tiles});
   list.push_back({256, 256, 256, f16_f32, 32, registers});
   list.push_back({248, 136, 56, f16_f32, 8, registers});
   /* Sums that are rounded: in one call, in loops over tiles, and in loops along K. */
   for (const uint32_t W : {8, 32, 64}) {
      list.push_back({32, 48, 256, f16_f16, W, tiles});
      list.push_back({136, 144, 72, f16_f16, W, tiles});
      list.push_back({20, 48, 400, f16_f16, W, tiles});
   }
   return list;
}

INSTANTIATE_TEST_SUITE_P(All, CmatShapes, testing::ValuesIn(cases()), case_name);

/// K plays no part; the largest and the registers take long to compile.
std::vector<Case> element_cases()
{
   std::vector<Case> list = cases();
   std::erase_if(list, [](const Case &c) {
      const bool again = c.m == 16 && c.k != 20, large = c.m * c.n > 20 * 12;
      return again || c.types.c == f16 || (large && c.subgroup_size != 32) ||
             (c.matrices == runner::Matrices::registers && (large || c.types.c == s32));
   });
   return list;
}

INSTANTIATE_TEST_SUITE_P(All, CmatElements, testing::ValuesIn(element_cases()), case_name);

/// The dump of a phase of a shader that has these statements and matrices of many tiles.
std::string dump_of(const char *phase, const std::string &statements)
{
   CompileOptions options;
   options.subgroup_size = 16;
   options.robust_buffer_access = false;
   return dump_of_shader(R"(
      layout(local_size_x = 16) in;
      layout(binding = 0) buffer Memory { float memory[]; };
      #define C coopmat<float, gl_ScopeSubgroup, 64, 32, gl_MatrixUseAccumulator>
      const int rows = gl_CooperativeMatrixLayoutRowMajor;
      void main() {
         C c, d;
         coopMatLoad(c, memory, 0, 32, rows);
         coopMatLoad(d, memory, 4096, 32, rows);
   )" + statements + R"(
         coopMatStore(d, memory, 8192, 32, rows);
      }
   )",
                         1, phase, options);
}

TEST(CmatTiles, AreOneForWhatIsDoneWithComponents)
{
   for (const char *statement : {"d = c + d;", "d = d * 3.0;", "d = -d;",
                                 "for (int i = 0; i < d.length(); i++) d[i] *= memory[i];"})
      EXPECT_EQ(count(dump_of("nir", statement), "@store_scratch"), 1u) << statement;
   EXPECT_EQ(count(dump_of("nir", "d = c + d;"), "@load_scratch"), 2u);
}

TEST(CmatTiles, NeedNoBoundsWhereTheyAreCounted)
{
   const std::string counted = dump_of("llvm", "d = c + d;"),
                     given = dump_of("llvm", "d[int(memory[0])] = 1;");
   EXPECT_EQ(count(counted, "call i32 @llvm.umin"), 0u);
   EXPECT_EQ(count(given, "call i32 @llvm.umin"), 1u);
}

} // namespace
} // namespace weft::cpu
