// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrices as values of programs: function parameters and results, loops, branches, globals,
/// constants, and dimensions from specialization constants.

#include "tests/e2e/cmat_program.h"
#include "tests/e2e/spirv_edits.h"

#include <algorithm>
#include <cstring>

namespace weft::e2e {

namespace {

using oracle::Expectation;
using oracle::Matrix;

/// Operations for tests without arithmetic, on small whole numbers, which they compute exactly. The
/// list has every combination of types and every shape, in random pairs.
std::vector<MatrixOperation> usable_operations(const Device &device)
{
   const auto same_types = [](const MatrixOperation &x, const MatrixOperation &y) {
      return x.a == y.a && x.b == y.b && x.c == y.c && x.saturating == y.saturating;
   };
   const auto same_shape = [](const MatrixOperation &x, const MatrixOperation &y) {
      return x.m == y.m && x.n == y.n && x.k == y.k;
   };
   std::vector<MatrixOperation> all;
   for (const MatrixOperation &op : matrix_operations(device)) {
      if (op.c == op.result &&
          missing_features(device, {a_type(op), b_type(op), c_type(op)}).empty())
         all.push_back(op);
   }
   oracle::Random random = test_random();
   std::shuffle(all.begin(), all.end(), random);
   std::vector<MatrixOperation> usable;
   for (const MatrixOperation &op : all) {
      const auto known = [&](const auto &same) {
         return std::ranges::any_of(usable, [&](const auto &other) { return same(op, other); });
      };
      if (!known(same_types) || !known(same_shape))
         usable.push_back(op);
   }
   return usable;
}

std::vector<Matrix> whole_operands(oracle::Random &random, const MatrixOperation &op)
{
   std::vector<Matrix> m;
   for (const MatrixType &type : {a_type(op), b_type(op), c_type(op)})
      m.push_back(random_matrix(random, type, oracle::Inputs::whole));
   return m;
}

/// C + times · A·B, one multiply-add after the other.
Expectation accumulated(const Device &device, const MatrixOperation &op,
                        const std::vector<Matrix> &m, uint32_t times)
{
   Expectation sum(m[2]);
   for (uint32_t i = 0; i < times; i++)
      sum = muladd(m[0], m[1], sum, op.saturating, muladd_rules(device, op.a, op.result));
   return sum;
}

/// Runs a body over A (m0), B (m1), C (m2) for every operation; the results must be C plus the
/// number of products A·B in `products`.
void for_each_operation(const char *declarations, const char *body, std::array<uint32_t, 4> push,
                        const std::vector<uint32_t> &products,
                        const std::function<void(std::vector<uint32_t> &)> &edit = {})
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = oracle::draw(random, uint32_t(sizes.size()));
   const std::vector<MatrixOperation> operations = usable_operations(device);
   if (operations.empty())
      GTEST_SKIP() << "no cooperative matrices";
   for (const MatrixOperation &op : operations) {
      const uint32_t size = sizes[turn++ % sizes.size()];
      if (!selected(random))
         continue;
      SCOPED_TRACE(operation_name(op) + ", subgroup size " + std::to_string(size));
      const std::vector<Matrix> m = whole_operands(random, op);
      const MatrixProgram program = {
         .inputs = {a_type(op), b_type(op), c_type(op)},
         .outputs = std::vector<MatrixType>(products.size(), result_type(op)),
         .declarations = declarations,
         .body = body,
         .words = {{"OPERANDS", op.saturating ? ", gl_MatrixOperandsSaturatingAccumulation" : ""}},
         .push = push,
         .subgroup_size = size,
         .edit = edit,
      };
      const ProgramResult result = run_program(device, program, m);
      for (uint32_t i = 0; i < products.size(); i++) {
         SCOPED_TRACE("result " + std::to_string(i));
         EXPECT_EQ(accumulated(device, op, m, products[i]).mismatch(result.outputs[i]),
                   std::nullopt);
      }
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace

TEST(CmatFunctions, ParametersAndResults)
{
   for_each_operation(R"(
$R0 multiply($M0 a, $M1 b, $R0 c) { return coopMatMulAdd(a, b, c$OPERANDS); }
void multiply_into($M0 a, $M1 b, inout $R0 c) { c = coopMatMulAdd(a, b, c$OPERANDS); }
void give(out $R0 target, $R0 source) { target = source; }
$R0 choose(bool first, $R0 x, $R0 y)
{
   if (first)
      return x;
   return y;
}
)",
                      R"(
   r0 = multiply(m0, m1, multiply(m0, m1, m2));
   r1 = m2;
   multiply_into(m0, m1, r1);
   give(r2, r1);
   multiply_into(m0, m1, r2);
   r3 = choose(push.x == 1u, r0, m2);
)",
                      {0, 0, 0, 0}, {2, 1, 2, 0});
}

TEST(CmatControlFlow, Loops)
{
   for_each_operation("", R"(
   r0 = m2;
   for (uint i = 0; i < push.x; i++)
      r0 = coopMatMulAdd(m0, m1, r0$OPERANDS);
   r1 = m2;
   uint count = 0;
   while (true) {
      if (count == push.y)
         break;
      count++;
      if (count % 2u == 0u)
         continue;
      r1 = coopMatMulAdd(m0, m1, r1$OPERANDS);
   }
   r2 = m2;
   for (uint i = 0; i < 2u; i++) {
      $R0 inner = r2;
      for (uint j = 0; j < push.x; j++)
         inner = coopMatMulAdd(m0, m1, inner$OPERANDS);
      r2 = inner;
   }
)",
                      {3, 5, 0, 0}, {3, 3, 6});
}

TEST(CmatControlFlow, Branches)
{
   for_each_operation("", R"(
   if (push.x == 1u)
      r0 = coopMatMulAdd(m0, m1, m2$OPERANDS);
   else
      r0 = m2;
   if (push.y == 1u)
      r1 = r0;
   else
      r1 = m2;
   switch (push.z) {
   case 0u: r2 = m2; break;
   case 2u: r2 = r0; // falls through
   case 3u: r2 = coopMatMulAdd(m0, m1, r2$OPERANDS); break;
   default: r2 = -m2; break;
   }
   // Uniform for the subgroup though computed from its invocations.
   r3 = m2;
   if (subgroupAdd(1u) == gl_SubgroupSize)
      r3 = coopMatMulAdd(m0, m1, r3$OPERANDS);
)",
                      {1, 0, 2, 0}, {1, 0, 2, 1});
}

TEST(CmatControlFlow, Phis)
{
   // GLSL compiles to variables; optimisers make OpPhi of them.
   for_each_operation("", R"(
   if (push.x == 1u)
      r0 = coopMatMulAdd(m0, m1, m2$OPERANDS);
   else
      r0 = m2;
   r1 = m2;
   for (uint i = 0; i < push.y; i++) {
      $R0 next;
      if (i % 2u == 0u)
         next = coopMatMulAdd(m0, m1, r1$OPERANDS);
      else
         next = r1;
      r1 = next;
   }
)",
                      {1, 5, 0, 0}, {1, 3}, [](std::vector<uint32_t> &spirv) {
                         EXPECT_EQ(insert_matrix_phis(spirv), 2u);
                      });
}

TEST(CmatControlFlow, SwappedInALoop)
{
   // Two values that are swapped in each iteration: their phis depend on each other.
   for_each_operation("", R"(
   $R0 x = m2;
   $R0 y = coopMatMulAdd(m0, m1, m2$OPERANDS);
   for (uint i = 0; i < push.x; i++) {
      $R0 old = x;
      x = y;
      y = old;
   }
   r0 = x;
   r1 = y;
)",
                      {5, 0, 0, 0}, {1, 0});
}

TEST(CmatControlFlow, Globals)
{
   for_each_operation(R"(
$R0 total;
$R0 zero = $R0($T2(0));
void step($M0 a, $M1 b) { total = coopMatMulAdd(a, b, total$OPERANDS); }
)",
                      R"(
   total = m2;
   step(m0, m1);
   step(m0, m1);
   r0 = total + zero;
)",
                      {}, {2});
}

/// Not all subgroups of the workgroup reach the barriers. Each barrier is for one subgroup, as is
/// the scratch memory between a matrix and its invocations. llama.cpp stores the ragged edge of a
/// product like this.
TEST(CmatControlFlow, BarriersOfSomeSubgroups)
{
   const char *const text = R"(#pragma use_vulkan_memory_model
layout(local_size_x = 4 * $SIZE) in;
layout(push_constant, std430) uniform Push { uint subgroups, turns; } push;
$BLOCKS
const uint elements = $ROWS * $COLS;
shared float stage[4 * elements];
void main()
{
   const uint mine = gl_SubgroupID * elements;
   $MATRIX m;
   coopMatLoad(m, source.data, 0, $COLS, gl_CooperativeMatrixLayoutRowMajor);
   if (gl_SubgroupID >= push.subgroups)
      return;
   for (uint turn = 0; turn < push.turns; turn++) {
      coopMatStore(m, stage, mine, $COLS, gl_CooperativeMatrixLayoutRowMajor);
      controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
      for (uint i = gl_SubgroupInvocationID; i < elements; i += gl_SubgroupSize)
         target.data[turn * 4 * elements + mine + i] = stage[mine + i];
      controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
      m += m;
   }
}
)";
   Device &device = plain_device();
   oracle::Random random = test_random();
   constexpr uint32_t turns = 3;
   uint32_t used = 0;
   for (const MatrixOperation &op : usable_operations(device)) {
      if (op.c != ComponentType::f32 || used++ > 3)
         continue;
      const uint32_t size = device.properties11.subgroupSize, elements = op.m * op.n;
      SCOPED_TRACE(operation_name(op) + ", subgroup size " + std::to_string(size));
      const Words words = {
         {"SIZE", std::to_string(size)},
         {"BLOCKS", buffer_block(0, "float", "source") + buffer_block(1, "float", "target")},
         {"ROWS", std::to_string(op.m)},
         {"COLS", std::to_string(op.n)},
         {"MATRIX", c_type(op).glsl()},
      };
      const Matrix m = random_matrix(random, c_type(op), oracle::Inputs::whole);
      Buffer source(device, elements * 4), target(device, size_t(turns) * 4 * elements * 4);
      memcpy(source.bytes().data(), m.data.data(), m.data.size());
      Pipeline pipeline(
         device, compile_glsl(std::string(glsl_header) + expand(text, words)),
         {.bindings = {1, 1}, .push_bytes = 8, .subgroup_size = size, .spec_constants = {}});
      for (const uint32_t active : {4u, 1u, 3u}) {
         oracle::fill_poison(target.bytes());
         const std::vector<std::byte> poison(target.bytes().begin(), target.bytes().end());
         const struct {
            uint32_t active, turns;
         } push = {active, turns};
         pipeline.dispatch({source, target}, {}, push);
         count_case();
         for (uint32_t i = 0; i < turns * 4 * elements; i++) {
            const uint32_t turn = i / (4 * elements), subgroup = i / elements % 4,
                           element = i % elements;
            const float wanted = float(m.real(element / op.n, element % op.n) * (1 << turn));
            const void *const expected =
               subgroup < active ? static_cast<const void *>(&wanted) : &poison[i * 4];
            ASSERT_EQ(memcmp(&target.bytes()[i * 4], expected, 4), 0)
               << "element " << element << " of subgroup " << subgroup << ", turn " << turn << ", "
               << active << " active";
         }
      }
   }
   if (used == 0)
      GTEST_SKIP() << "no accumulators of f32";
}

TEST(CmatConstants, Constructors)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   for_each_matrix_type(device, random, [&](const MatrixType &type, uint32_t subgroup_size) {
      const MatrixProgram program = {
         .inputs = {},
         .outputs = {type, type, type, type},
         .declarations =
            "const $R0 fives = $R0($T(5));\nconst $R0 pair[2] = { $R0($T(1)), $R0($T(2)) };\n",
         .body = R"(   r0 = fives;
   r1 = $R0($T(push.x));
   $R0 sum = pair[push.y];
   sum += fives;
   r2 = sum;
   r3 = $R0(3);
)",
         .words = {{"T", oracle::format(type.type).glsl}},
         .push = {11, 1, 0, 0},
         .subgroup_size = subgroup_size,
      };
      const ProgramResult result = run_program(device, program, {});
      const double values[] = {5, 11, 7, 3};
      for (int i = 0; i < 4; i++) {
         SCOPED_TRACE("result " + std::to_string(i));
         Matrix expected(type.type, type.rows, type.cols);
         for (uint32_t e = 0; e < type.rows * type.cols; e++)
            oracle::encode_number(type.type, values[i], expected.at(e / type.cols, e % type.cols));
         EXPECT_MATRIX(expected, result.outputs[i]);
      }
   });
}

TEST(CmatConstants, SpecializedDimensions)
{
   // The module's default dimensions are not valid; only the pipeline's constants are.
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<MatrixOperation> operations = usable_operations(device);
   if (operations.empty())
      GTEST_SKIP() << "no cooperative matrices";
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = 0;
   for (const MatrixOperation &op : operations) {
      const uint32_t size = sizes[turn++ % sizes.size()];
      if (!selected(random))
         continue;
      SCOPED_TRACE(operation_name(op) + ", subgroup size " + std::to_string(size));
      const std::vector<Matrix> m = whole_operands(random, op);
      const auto coopmat = [](ComponentType type, const char *rows, const char *cols,
                              const char *use) {
         return std::string("coopmat<") + oracle::format(type).glsl + ", scope, " + rows + ", " +
                cols + ", " + use + ">";
      };
      const MatrixProgram program = {
         .inputs = {a_type(op), b_type(op), c_type(op)},
         .outputs = {result_type(op)},
         .declarations = R"(
layout(constant_id = 3) const int M = 1;
layout(constant_id = 5) const int N = 1;
layout(constant_id = 8) const int K_half = 1;
layout(constant_id = 9) const uint scope = 0;
const int K = K_half * 2;
)",
         .body = R"(   $SPEC_A a;
   $SPEC_B b;
   $SPEC_C c;
   coopMatLoad(a, m0_data.data, 0, K, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(b, m1_data.data, 0, N, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(c, m2_data.data, 0, N, gl_CooperativeMatrixLayoutRowMajor);
   c = coopMatMulAdd(a, b, c$OPERANDS);
   side[gl_LocalInvocationIndex] = c.length();
   r0 = m2;
   for (int i = 0; i < c.length(); i++)
      r0[i] = c[i];
)",
         .words = {{"SPEC_A", coopmat(op.a, "M", "K", "gl_MatrixUseA")},
                   {"SPEC_B", coopmat(op.b, "K", "N", "gl_MatrixUseB")},
                   {"SPEC_C", coopmat(op.c, "M", "N", "gl_MatrixUseAccumulator")},
                   {"OPERANDS", op.saturating ? ", gl_MatrixOperandsSaturatingAccumulation" : ""}},
         .spec_constants = {{3, op.m}, {5, op.n}, {8, op.k / 2}, {9, VK_SCOPE_SUBGROUP_KHR}},
         .subgroup_size = size,
         .side_words = size,
      };
      const ProgramResult result = run_program(device, program, m);
      EXPECT_EQ(accumulated(device, op, m, 1).mismatch(result.outputs[0]), std::nullopt);
      for (uint32_t length : result.side)
         EXPECT_EQ(length, op.m * op.n / size);
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace weft::e2e
