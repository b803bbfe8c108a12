// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compares matrices of workgroup scope, which several subgroups share, with scalar loops, as tiles
/// and as registers. Numbers are small integers, which every type represents exactly. Shapes are
/// random; some have rows that divide among the subgroups.

#include "tests/backend/cpu/seed.h"
#include "tests/e2e/glsl.h"
#include "tests/oracle/random.h"
#include "tools/runner/runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

namespace weft::cpu {
namespace {

using enum ComponentType;
using oracle::draw;

constexpr uint32_t largest = 64;

struct Shape {
   uint32_t m, n, k;
};

struct Case {
   uint32_t subgroups;
   runner::Path path;
};

std::string case_name(const testing::TestParamInfo<Case> &info)
{
   const Case &c = info.param;
   return std::to_string(c.subgroups) + "_subgroups_of_" + std::to_string(c.path.subgroup_size) +
          (c.path.through_spirv ? "_spirv" : "") +
          (c.path.matrices == runner::Matrices::tiles ? "_tiles" : "_registers");
}

using Element = std::function<int(uint32_t row, uint32_t col)>;

/// Rows of f32, dense; poison beyond.
struct Buffer {
   std::vector<float> numbers;

   Buffer(uint32_t rows, uint32_t cols, const Element &element)
   {
      for (uint32_t i = 0; i < rows * cols; ++i)
         numbers.push_back(float(element(i / cols, i % cols)));
   }
};

std::vector<std::byte> bytes_of(const std::vector<float> &numbers)
{
   std::vector<std::byte> bytes(numbers.size() * 4);
   memcpy(bytes.data(), numbers.data(), bytes.size());
   return bytes;
}

std::vector<std::byte> halves_of(const std::vector<float> &numbers)
{
   std::vector<std::byte> bytes;
   for (const float number : numbers) {
      const _Float16 h = _Float16(number);
      bytes.resize(bytes.size() + 2);
      memcpy(bytes.data() + bytes.size() - 2, &h, 2);
   }
   return bytes;
}

class CmatScope : public testing::TestWithParam<Case> {
protected:
   CmatScope() : random(test::test_seed()) {}

   uint32_t invocations() const { return GetParam().subgroups * GetParam().path.subgroup_size; }
   uint32_t rounds() const { return is_tiles() ? 3 : 1; }
   bool is_tiles() const { return GetParam().path.matrices == runner::Matrices::tiles; }

   /// Multiples of 8, as the device advertises them.
   Shape draw_shape()
   {
      /* Code for registers grows with the number of elements. */
      const uint32_t most = is_tiles() ? largest : 24;
      const auto size = [&] { return 8 * (1 + draw(random, most / 8)); };
      return {size(), size(), size()};
   }

   /// Runs a shader on dense inputs; the result has that many numbers for each of the outputs.
   void run(const std::string &shader, const Shape &shape,
            const std::vector<std::vector<std::byte>> &inputs, const std::vector<uint32_t> &outputs)
   {
      const auto number = [](uint32_t n) { return std::to_string(n); };
      const std::string text = e2e::expand(shader, {{"W", number(invocations())},
                                                    {"M", number(shape.m)},
                                                    {"N", number(shape.n)},
                                                    {"K", number(shape.k)}});
      const std::vector<uint32_t> spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + R"(
   layout(local_size_x = )" + number(invocations()) +
                                                            R"() in;
   const int rows = gl_CooperativeMatrixLayoutRowMajor;
   const int columns = gl_CooperativeMatrixLayoutColumnMajor;
   #define MATRIX(type, height, width, use) coopmat<type, gl_ScopeWorkgroup, height, width, gl_MatrixUse##use>
)" + text);
      runner::Dispatch dispatch = {{spirv, "main", {}}, {}, {}};
      uint32_t binding = 0;
      for (const std::vector<std::byte> &input : inputs)
         dispatch.buffers.push_back({{0, binding++}, input});
      for (const uint32_t numbers : outputs)
         dispatch.buffers.push_back(
            {{0, binding++}, std::vector<std::byte>(numbers * 4, std::byte(0x7b))});
      runner::CompileOptions options;
      for (const ComponentType c : {f32, f16}) {
         MatrixOperation any = {8, 8, 8, f16, f16, c, c, false};
         any.scope = MatrixScope::workgroup;
         options.matrices = options.matrices ? options.matrices : MatrixSupport{};
         options.matrices->flexible.push_back({any, largest, invocations()});
      }
      const auto result = runner::run(dispatch, GetParam().path, options);
      ASSERT_TRUE(result) << result.error().message;
      found.clear();
      for (uint32_t i = 0; i < outputs.size(); ++i) {
         const std::vector<std::byte> &bytes = (*result)[inputs.size() + i].bytes;
         found.emplace_back(bytes.size() / 4);
         memcpy(found.back().data(), bytes.data(), bytes.size());
      }
   }

   void expect(uint32_t output, uint32_t rows, uint32_t cols, const Element &element,
               const std::string &what)
   {
      ASSERT_GE(found[output].size(), rows * cols);
      for (uint32_t i = 0; i < rows * cols; ++i) {
         ASSERT_EQ(found[output][i], float(element(i / cols, i % cols)))
            << what << ": row " << i / cols << ", column " << i % cols << " of " << rows << "x"
            << cols;
      }
   }

   void expect_halves(uint32_t output, uint32_t rows, uint32_t cols, const Element &element)
   {
      for (uint32_t i = 0; i < rows * cols; ++i) {
         _Float16 h;
         memcpy(&h, reinterpret_cast<const std::byte *>(found[output].data()) + i * 2, 2);
         ASSERT_EQ(float(h), float(element(i / cols, i % cols)))
            << "converted: row " << i / cols << ", column " << i % cols << " of " << rows << "x"
            << cols;
      }
   }

   oracle::Random random;
   std::vector<std::vector<float>> found;
};

/// Loads, stores and conversions in both layouts, arithmetic, components one by one, a sum over
/// multiple products: without communication between subgroups.
TEST_P(CmatScope, MultiplyAdd)
{
   const std::string shader = R"(
   layout(binding = 0) buffer ABuffer { float16_t a_memory[]; };
   layout(binding = 1) buffer BBuffer { float16_t b_memory[]; };
   layout(binding = 2) buffer CBuffer { float c_memory[]; };
   layout(binding = 3) buffer DBuffer { float d_memory[]; };
   layout(binding = 4) buffer EBuffer { float e_memory[]; };
   layout(binding = 5) buffer FBuffer { float16_t f_memory[]; };
   layout(binding = 6) buffer GBuffer { uint lengths[]; };
   shared float16_t b_shared[$K * $N];
   void main() {
      MATRIX(float16_t, $M, $K, A) a;
      MATRIX(float16_t, $K, $N, B) b, b_again;
      MATRIX(float, $M, $N, Accumulator) c, d;
      coopMatLoad(a, a_memory, 0, $K, rows);
      coopMatLoad(b, b_memory, 0, $K, columns);
      coopMatLoad(c, c_memory, 0, $N, rows);
      // All of the workgroup's memory, by a matrix of it.
      coopMatStore(b, b_shared, 0, $N, rows);
      barrier();
      coopMatLoad(b_again, b_shared, 0, $N, rows);
      a = a * float16_t(2);
      b = b + b_again;
      d = MATRIX(float, $M, $N, Accumulator)(3);
      for (uint i = 0; i < 2 + gl_WorkGroupID.x; ++i)
         d = coopMatMulAdd(a, b, d);
      for (int i = 0; i < c.length(); ++i)
         c[i] = c[i] * 2 + 1;
      coopMatStore(c, e_memory, 0, $M, columns);
      coopMatStore(d - c, d_memory, 0, $N, rows);
      const MATRIX(float16_t, $M, $N, Accumulator) narrow = MATRIX(float16_t, $M, $N, Accumulator)(c);
      coopMatStore(MATRIX(float16_t, $M, $N, A)(narrow), f_memory, 0, $N, rows);
      lengths[gl_LocalInvocationIndex] = c.length();
   })";
   for (uint32_t round = 0; round < rounds(); ++round) {
      const Shape s = draw_shape();
      const auto a = [](uint32_t row, uint32_t k) { return int(row * 5 + k * 3) % 4 - 1; };
      const auto b = [](uint32_t k, uint32_t col) { return int(k * 7 + col * 2) % 5 - 2; };
      const auto c = [](uint32_t row, uint32_t col) { return int(row + col * 3) % 9 - 4; };
      const auto d = [&](uint32_t row, uint32_t col) {
         int sum = 3;
         for (uint32_t k = 0; k < s.k; ++k)
            sum += 2 * a(row, k) * 2 * 2 * b(k, col);
         return sum - (2 * c(row, col) + 1);
      };
      run(shader, s,
          {halves_of(Buffer(s.m, s.k, a).numbers),
           halves_of(Buffer(s.n, s.k, [&](uint32_t r, uint32_t col) { return b(col, r); }).numbers),
           bytes_of(Buffer(s.m, s.n, c).numbers)},
          {s.m * s.n, s.m * s.n, s.m * s.n / 2, invocations()});
      if (HasFatalFailure())
         return;
      expect(0, s.m, s.n, d, "product");
      expect(1, s.n, s.m, [&](uint32_t r, uint32_t col) { return 2 * c(col, r) + 1; }, "columns");
      expect_halves(2, s.m, s.n, [&](uint32_t r, uint32_t col) { return 2 * c(r, col) + 1; });
      uint32_t lengths = 0;
      for (const float length : found[3]) {
         uint32_t number;
         memcpy(&number, &length, 4);
         EXPECT_GE(number, 1u);
         lengths += number;
      }
      EXPECT_GE(lengths, s.m * s.n);
   }
}

/// Operations on single elements: functions see the whole matrix's coordinates, an accumulator
/// becomes A and B, transposed or not, and reductions cover the whole matrix.
TEST_P(CmatScope, Elements)
{
   const std::string shader = R"(
   layout(binding = 0) buffer CBuffer { float c_memory[]; };
   layout(binding = 1) buffer DBuffer { float d_memory[]; };
   layout(binding = 2) buffer EBuffer { float e_memory[]; };
   layout(binding = 3) buffer FBuffer { float f_memory[]; };
   layout(binding = 4) buffer GBuffer { float g_memory[]; };
   layout(binding = 5) buffer HBuffer { float h_memory[]; };
   layout(binding = 6) buffer IBuffer { float firsts[]; };
   float sum(const in float x, const in float y) { return x + y; }
   float larger(const in float x, const in float y) { return max(x, y); }
   float place(const in uint row, const in uint col, const in float x, const in float y) {
      return row > col ? x + y * 2 : x * float(row) - float(col);
   }
   #define C MATRIX(float, $M, $N, Accumulator)
   void main() {
      C c, by_row, by_column, all;
      MATRIX(float, $M, $M, Accumulator) e;
      MATRIX(float16_t, $N, $M, B) b;
      coopMatLoad(c, c_memory, 0, $N, rows);
      MATRIX(float16_t, $M, $N, A) a = MATRIX(float16_t, $M, $N, A)(c);
      coopMatTransposeNV(b, c);
      e = coopMatMulAdd(a, b, MATRIX(float, $M, $M, Accumulator)(1));
      coopMatStore(e, e_memory, 0, $M, rows);
      // Accumulators that become B: first the type, then the use.
      const MATRIX(float16_t, $M, $M, Accumulator) narrow = MATRIX(float16_t, $M, $M, Accumulator)(e);
      MATRIX(float16_t, $M, $M, B) square = MATRIX(float16_t, $M, $M, B)(narrow);
      coopMatStore(square, f_memory16, 0, $M, rows);
      coopMatReduceNV(by_row, c, gl_CooperativeMatrixReduceRowNV, sum);
      coopMatReduceNV(by_column, c, gl_CooperativeMatrixReduceColumnNV, sum);
      coopMatReduceNV(all, c, gl_CooperativeMatrixReduceRowAndColumnNV, larger);
      // Of a matrix whose elements are all the same, any component says it, to everybody.
      firsts[gl_LocalInvocationIndex] = all[0];
      by_row = by_row + by_column * 3.0;
      coopMatPerElementNV(c, c, place, by_row);
      coopMatStore(c, d_memory, 0, $N, rows);
      MATRIX(float, ($M / 2), ($N / 2), Accumulator) quads;
      coopMatReduceNV(quads, by_row, gl_CooperativeMatrixReduce2x2NV, sum);
      coopMatStore(quads, g_memory, 0, $N / 2, rows);
      MATRIX(float, $N, $M, Accumulator) spread;
      coopMatReduceNV(spread, c, gl_CooperativeMatrixReduceRowAndColumnNV, larger);
      coopMatStore(spread, h_memory, 0, $M, rows);
   })";
   for (uint32_t round = 0; round < 1; ++round) {
      /* The sizes are multiples of 8 also when halved. */
      Shape s = draw_shape();
      s.m = (s.m + 15) / 16 * 16;
      s.n = (s.n + 15) / 16 * 16;
      const auto c = [](uint32_t row, uint32_t col) { return int(row * 3 + col * 5) % 7 - 3; };
      std::string text = shader;
      text.replace(text.find("float f_memory[]"), 16, "float16_t f_memory16[]");
      run(text, s, {bytes_of(Buffer(s.m, s.n, c).numbers)},
          {s.m * s.n, s.m * s.m, s.m * s.m / 2, s.m * s.n / 4, s.m * s.n, invocations()});
      if (HasFatalFailure())
         return;
      std::vector<int> row_sums(s.m), column_sums(s.n);
      for (uint32_t row = 0; row < s.m; ++row) {
         for (uint32_t col = 0; col < s.n; ++col) {
            row_sums[row] += c(row, col);
            column_sums[col] += c(row, col);
         }
      }
      const auto sums = [&](uint32_t row, uint32_t col) {
         return row_sums[row] + 3 * column_sums[col];
      };
      const auto changed = [&](uint32_t row, uint32_t col) {
         const int x = c(row, col), y = sums(row, col);
         return row > col ? x + y * 2 : x * int(row) - int(col);
      };
      const auto e = [&](uint32_t row, uint32_t col) {
         int product = 1;
         for (uint32_t k = 0; k < s.n; ++k)
            product += c(row, k) * c(col, k);
         return product;
      };
      expect(0, s.m, s.n, changed, "per element");
      expect(1, s.m, s.m, e, "product");
      expect_halves(2, s.m, s.m, e);
      expect(
         3, s.m / 2, s.n / 2,
         [&](uint32_t row, uint32_t col) {
            return sums(2 * row, 2 * col) + sums(2 * row, 2 * col + 1) +
                   sums(2 * row + 1, 2 * col) + sums(2 * row + 1, 2 * col + 1);
         },
         "quads");
      int most = changed(0, 0);
      for (uint32_t i = 0; i < s.m * s.n; ++i)
         most = std::max(most, changed(i / s.n, i % s.n));
      expect(4, s.n, s.m, [&](uint32_t, uint32_t) { return most; }, "all, in another shape");
      expect(5, invocations(), 1, [&](uint32_t, uint32_t) { return 3; }, "a component of each");
   }
}

/// Components of B that a shader sets to a value of the invocation. The element has the value of
/// one of its owners, the same one in the whole product. In registers too, multiple invocations of
/// a subgroup own each element.
TEST_P(CmatScope, AnElementOfBHasOneValue)
{
   if (!is_tiles())
      GTEST_SKIP() << "in registers several invocations have each element";
   const std::string shader = R"(
   layout(binding = 0) buffer DBuffer { float d_memory[]; };
   void main() {
      MATRIX(float16_t, $K, $N, B) b = MATRIX(float16_t, $K, $N, B)(0);
      for (int i = 0; i < b.length(); ++i)
         b[i] = float16_t(gl_LocalInvocationIndex % 64);
      const MATRIX(float, $M, $N, Accumulator) d = coopMatMulAdd(
         MATRIX(float16_t, $M, $K, A)(1), b, MATRIX(float, $M, $N, Accumulator)(0));
      coopMatStore(d, d_memory, 0, $N, rows);
   })";
   const Shape s = {64, 16, 16};
   run(shader, s, {}, {s.m * s.n});
   if (HasFatalFailure())
      return;
   // Each is a sum of K of the numbers, and not all are the first invocation's 0.
   float most = 0;
   for (uint32_t i = 0; i < s.m * s.n; ++i) {
      const float sum = found[0][i];
      ASSERT_EQ(sum, found[0][i % s.n]) << "row " << i / s.n << ", column " << i % s.n;
      ASSERT_TRUE(sum >= 0 && sum <= float(s.k * 63) && sum == std::trunc(sum)) << sum;
      most = std::max(most, sum);
   }
   EXPECT_GT(most, 0);
}

/// Tensor loads and stores, by the whole matrix's coordinates, with a clip, with a decode function
/// and as they are.
TEST_P(CmatScope, Tensors)
{
   const std::string shader = R"(
   layout(binding = 0) buffer ABuffer { float16_t a_memory[]; };
   layout(binding = 1) buffer BBuffer { float16_t b_memory[]; };
   layout(binding = 2) buffer DBuffer { float d_memory[]; };
   layout(binding = 3) buffer EBuffer { float e_memory[]; };
   layout(buffer_reference, std430, buffer_reference_align = 2) buffer Block { float16_t pair[2]; };
   float16_t decode(const in Block block, const in uint at[2], const in uint in_block[2]) {
      return block.pair[in_block[1]] + float16_t(at[0] % 3);
   }
   void main() {
      MATRIX(float16_t, $M, $K, A) a;
      MATRIX(float16_t, $K, $N, B) b;
      MATRIX(float, $M, $N, Accumulator) d = MATRIX(float, $M, $N, Accumulator)(0);
      tensorLayoutNV<2> blocks = setTensorLayoutBlockSizeNV(createTensorLayoutNV(2), 1, 2);
      blocks = setTensorLayoutDimensionNV(blocks, $M + 2, $K);
      coopMatLoadTensorNV(a, a_memory, 0, sliceTensorLayoutNV(blocks, 1, $M, 0, $K), decode);
      tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> plain =
         createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
      plain = setTensorLayoutDimensionNV(plain, $N, $K);
      tensorViewNV<2, false, 1, 0> transposed = createTensorViewNV(2, false, 1, 0);
      for (uint i = 0; i < 2; ++i) {
         // The second half lies outside.
         coopMatLoadTensorNV(b, b_memory, 0, sliceTensorLayoutNV(plain, i * ($N / 2), $N, 0, $K), transposed);
         d = coopMatMulAdd(a, b, d);
      }
      tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV> result =
         createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
      result = setTensorLayoutDimensionNV(result, $M - 3, $N);
      coopMatStoreTensorNV(d, d_memory, 0, sliceTensorLayoutNV(result, 0, $M, 0, $N));
      tensorLayoutNV<2> whole = setTensorLayoutDimensionNV(createTensorLayoutNV(2), $M, $N);
      coopMatStoreTensorNV(d, e_memory, 0, sliceTensorLayoutNV(whole, 0, $M, 0, $N));
   })";
   for (uint32_t round = 0; round < rounds(); ++round) {
      const Shape s = draw_shape();
      const auto memory = [](uint32_t row, uint32_t k) { return int(row * 5 + k * 3) % 5 - 2; };
      const auto a = [&](uint32_t row, uint32_t k) {
         return memory(row + 1, k) + int((row + 1) % 3);
      };
      const auto bt = [](uint32_t col, uint32_t k) { return int(k * 7 + col * 2) % 5 - 2; };
      const auto d = [&](uint32_t row, uint32_t col) {
         int sum = 0;
         for (uint32_t k = 0; k < s.k; ++k) {
            for (uint32_t i = 0; i < 2; ++i) {
               const uint32_t n = i * (s.n / 2) + col;
               sum += n < s.n ? a(row, k) * bt(n, k) : 0;
            }
         }
         return sum;
      };
      run(
         shader, s,
         {halves_of(Buffer(s.m + 2, s.k, memory).numbers), halves_of(Buffer(s.n, s.k, bt).numbers)},
         {s.m * s.n, s.m * s.n});
      if (HasFatalFailure())
         return;
      expect(0, s.m - 3, s.n, d, "product");
      expect(1, s.m, s.n, d, "whole product");
      float poison;
      memset(&poison, 0x7b, 4);
      for (uint32_t i = (s.m - 3) * s.n; i < s.m * s.n; ++i)
         ASSERT_EQ(found[0][i], poison) << "element " << i << " was not to be written";
   }
}

std::vector<Case> cases()
{
   std::vector<Case> list;
   using enum runner::Matrices;
   for (const uint32_t subgroups : {1, 2, 3, 4, 8})
      list.push_back({subgroups, {.matrices = tiles, .subgroup_size = subgroups == 3 ? 64u : 32u}});
   for (const uint32_t subgroups : {2, 3})
      list.push_back({subgroups, {.matrices = registers, .subgroup_size = 16}});
   /* Through SPIR-V with registers, as in the layer. */
   list.push_back({4, {.matrices = registers, .through_spirv = true, .subgroup_size = 8}});
   list.push_back({4, {.matrices = tiles, .through_spirv = true, .subgroup_size = 32}});
   return list;
}

INSTANTIATE_TEST_SUITE_P(All, CmatScope, testing::ValuesIn(cases()), case_name);

/// A module with a matrix whose scope is an expression of a specialization constant.
std::vector<uint32_t> module_of_scope(const std::string &scope)
{
   return e2e::compile_glsl(e2e::glsl_header + std::string(R"(
layout(local_size_x = 128) in;
layout(constant_id = 7) const uint chosen = 3; // gl_ScopeSubgroup
const uint computed = chosen - 4u;
layout(set = 0, binding = 0) buffer Data { float data[]; };
void main()
{
   coopmat<float, )") + scope +
                            R"(, 32, 32, gl_MatrixUseAccumulator> m;
   coopMatLoad(m, data, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
   coopMatStore(m, data, 1024, 32, gl_CooperativeMatrixLayoutRowMajor);
}
)");
}

TEST(WorkgroupMatrices, AreFoundWhateverTheirScopeIsMadeOf)
{
   const auto has = [](const std::vector<uint32_t> &spirv, uint32_t value) {
      ShaderSource source = {spirv, "main", {}};
      source.spec_constants = {{7, std::as_bytes(std::span(&value, 1))}};
      return has_workgroup_matrices(source);
   };
   const std::vector<uint32_t> workgroup = module_of_scope("gl_ScopeWorkgroup"),
                               subgroup = module_of_scope("gl_ScopeSubgroup"),
                               chosen = module_of_scope("chosen"),
                               sum = module_of_scope("computed");
   EXPECT_TRUE(has(workgroup, 3));
   EXPECT_FALSE(has(subgroup, 2));
   EXPECT_TRUE(has(chosen, 2));
   EXPECT_FALSE(has(chosen, 3));
   EXPECT_FALSE(has_workgroup_matrices({chosen, "main", {}}));
   EXPECT_TRUE(has(sum, 6));
   EXPECT_FALSE(has(sum, 7));
   // Words that are no module have no matrices.
   EXPECT_FALSE(has_workgroup_matrices({std::span(chosen).first(chosen.size() - 7), "main", {}}));
   EXPECT_FALSE(has_workgroup_matrices({{}, "main", {}}));
}

} // namespace
} // namespace weft::cpu
