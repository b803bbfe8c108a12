// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs that run neighbouring workgroups together, against the same shaders without.

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/specialize/join_workgroups.h"
#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <random>

namespace weft::cpu {
namespace {

/// A workgroup of one subgroup multiplies a row by the vector, after each other element.
struct Product {
   std::string qualifier = "", declarations = "", before = "";
   std::string step = "sum = sum * 3 + rows[at + i] * (vector[i] ^ (vector[i] >> 3));";
   std::string behind = "";

   std::string glsl() const
   {
      return R"(
layout(local_size_x = 32) in;
layout(push_constant, std430) uniform Push { uint columns, limit; } push;
layout(set = 0, binding = 0) readonly buffer Rows { uint rows[]; };
layout(set = 0, binding = 1) readonly buffer Vector { uint vector[]; };
layout(set = 0, binding = 2) )" +
             qualifier + " buffer Results { uint results[]; };\n" + declarations + R"(
void main()
{
   const uint lane = gl_LocalInvocationIndex,
              row = gl_WorkGroupID.x + gl_NumWorkGroups.x *
                    (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z),
              at = row * push.columns;
   uint sum = 0, more = 0;
   )" + before +
             R"(
   for (uint i = lane; i < push.columns; i += 32) {
      )" + step +
             R"(
   }
   sum = subgroupAdd(sum ^ more);
   )" + behind +
             R"(
   if (lane == 0)
      results[row] = sum;
})";
   }
};

struct Shape {
   std::array<uint32_t, 3> workgroups = {joined, 1, 1};
   uint32_t columns = 100; ///< no multiple of 32: the guards of some rows fail
   uint32_t limit = UINT32_MAX;

   static constexpr uint32_t joined = min_joinable_workgroups;
   uint32_t rows() const { return workgroups[0] * workgroups[1] * workgroups[2]; }
};

struct Outcome {
   uint32_t joined = 0; ///< ProgramInfo::joined_workgroups
   std::vector<uint32_t> results;
};

std::vector<uint32_t> random_numbers(size_t count)
{
   std::mt19937 random{uint32_t(test::test_seed())};
   std::vector<uint32_t> numbers(count);
   for (uint32_t &number : numbers)
      number = uint32_t(random());
   return numbers;
}

class JoinWorkgroups : public testing::Test {
protected:
   void SetUp() override
   {
      if (max_joined_sums(host_features().target.vector_bits, 32) < 4)
         GTEST_SKIP() << "the registers have no room for the sums of four workgroups";
   }

   /// Runs the shader, compiled for its dispatch or for any. The last quarter of the rows lies
   /// behind the end of the buffer.
   static Outcome run(const Product &product, const Shape &shape, bool specialized,
                      uint32_t order = 0, bool stored = false)
   {
      const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + product.glsl());
      const uint32_t push[] = {shape.columns, shape.limit};
      const auto push_bytes = std::as_bytes(std::span(push));
      const DispatchFacts facts = {push_bytes, {}, shape.workgroups};
      const runner::BufferPlace places[] = {{0, 0}, {0, 1}, {0, 2}};
      Result<std::shared_ptr<const Program>> program =
         runner::compile({spirv, "main", {}}, places,
                         {.subgroup_size = 32, .specialized = specialized}, {.facts = &facts});
      EXPECT_TRUE(program) << program.error().message;
      if (program && stored)
         program = deserialize((*program)->serialize());
      if (!program)
         return {};
      std::vector<uint32_t> rows = random_numbers(size_t(shape.rows()) * shape.columns * 3 / 4),
                            vector = random_numbers(shape.columns);
      Outcome outcome = {(*program)->info().joined_workgroups,
                         std::vector<uint32_t>(shape.rows() + 32, 77)};
      const runner::BufferView views[] = {
         {places[0], std::as_writable_bytes(std::span(rows))},
         {places[1], std::as_writable_bytes(std::span(vector))},
         {places[2], std::as_writable_bytes(std::span(outcome.results))}};
      Executor executor(2, order);
      EXPECT_TRUE(runner::execute(executor, **program, views, shape.workgroups, push_bytes));
      return outcome;
   }

   /// Checks the results, and how many workgroups run together.
   static void expect(uint32_t joined, const Product &product, const Shape &shape = {})
   {
      const Outcome expected = run(product, shape, false), found = run(product, shape, true);
      EXPECT_EQ(expected.joined, 1u);
      EXPECT_EQ(found.joined, joined) << product.glsl();
      EXPECT_EQ(found.results, expected.results) << product.glsl();
   }
};

TEST_F(JoinWorkgroups, ComputesEachRow)
{
   const Shape shape = {{Shape::joined + 4, 3, 2}, 100};
   const Outcome found = run({}, shape, true);
   EXPECT_EQ(found.joined, 4u);
   const std::vector<uint32_t> rows = random_numbers(size_t(shape.rows()) * shape.columns * 3 / 4),
                               vector = random_numbers(shape.columns);
   for (uint32_t row = 0; row < shape.rows(); row++) {
      uint32_t sum = 0;
      for (uint32_t lane = 0; lane < 32; lane++) {
         uint32_t own = 0;
         for (uint32_t i = lane; i < shape.columns; i += 32) {
            const size_t at = size_t(row) * shape.columns + i;
            own = own * 3 + (at < rows.size() ? rows[at] : 0) * (vector[i] ^ (vector[i] >> 3));
         }
         sum += own;
      }
      ASSERT_EQ(found.results[row], sum) << "row " << row;
   }
   EXPECT_EQ(found.results[shape.rows()], 77u);
}

TEST_F(JoinWorkgroups, OnlyIfTheNumberIsAMultiple)
{
   for (const uint32_t columns : {0u, 31u, 64u, 96u, 2048u})
      expect(4, {}, {{Shape::joined, 1, 1}, columns});
   expect(1, {}, {{Shape::joined + 1, 1, 1}});
   expect(1, {}, {{Shape::joined + 2, 4, 1}});
   expect(1, {}, {{Shape::joined - 4, 4, 1}});
   expect(4, {}, {{Shape::joined + 8, 1, 3}});
}

TEST_F(JoinWorkgroups, InAnyOrder)
{
   const Shape shape = {{Shape::joined, 2, 2}, 100};
   const Outcome expected = run({}, shape, false);
   for (const uint32_t order : {1u, 2u, 3u})
      EXPECT_EQ(run({}, shape, true, order).results, expected.results);
}

TEST_F(JoinWorkgroups, StaysInTheCache)
{
   const Outcome expected = run({}, {}, false), found = run({}, {}, true, 0, /*stored=*/true);
   EXPECT_EQ(found.joined, 4u);
   EXPECT_EQ(found.results, expected.results);
}

TEST_F(JoinWorkgroups, AsManyAsTheRegistersHold)
{
   expect(2, {.step = "sum += rows[at + i] * vector[i]; more ^= rows[at + i] + (more >> 1);"});
   Product many = {.declarations = "uint mix_up(uint x) { return x * 77777u ^ (x >> 5); }",
                   .step = "uint x = rows[at + i] ^ vector[i];"};
   for (unsigned i = 0; i < 100; i++)
      many.step += " x = mix_up(x);";
   many.step += " sum += x;";
   expect(2, many);
   for (unsigned i = 0; i < 200; i++)
      many.step += " sum = mix_up(sum);";
   expect(1, many);
}

/// A workgroup has its own values, which a loop carries, or which are used behind it.
TEST_F(JoinWorkgroups, EachHasItsOwnValues)
{
   expect(4, {.before = "sum = row * 5; if (push.columns > 7) sum = rows[row] + lane;",
              .behind = "if (lane < 16) sum += rows[row * 2 + lane] * vector[lane];"});
   expect(4, {.step = "if (vector[i] % 3 == 0) continue; if (vector[i] % 97 == 1) break; "
                      "sum = sum * 7 + rows[at + i];"});
   expect(4,
          {.before = "const bool odd = (gl_WorkGroupID.y & 1) == 1;",
           .step = "if (odd) sum += rows[at + i] * vector[i]; else sum -= rows[at + i];",
           .behind = "sum = odd ? sum + row : sum;"},
          {{Shape::joined, 2, 1}});
}

TEST_F(JoinWorkgroups, IfTheDispatchDecidesTheirBranch)
{
   const Product limited = {.before = "if (row + 1 > push.limit) { results[row] = 5; return; }"};
   expect(4, limited);
   expect(1, limited, {.limit = 50});
   const Product skipped = {.before = "if (push.limit == 3) { atomicAdd(results[row], 7); "
                                      "for (uint i = 0; i < push.columns; i++) { "
                                      "more = more * 3 + rows[i + at] * vector[i]; "
                                      "atomicXor(results[row], more); } }"};
   expect(4, skipped);
}

/// The workgroups would not share their control flow, or see each other's memory at other times.
TEST_F(JoinWorkgroups, NotIfItMayBeSeen)
{
   const Product plain;
   expect(1, {.before = "if (row % 3 == 0) { results[row] = 5; return; }"});
   expect(1, {.step = "if (rows[at + i] % 3 == 0) continue; sum += rows[at + i] * vector[i];"});
   expect(1, {.step = "if (i > row) break; sum += rows[at + i] * vector[i];"});
   expect(1, {.behind = "atomicAdd(results[row], 3); sum += 1;"});
   expect(1, {.qualifier = "coherent"});
   expect(1, {.qualifier = "volatile"});
   expect(1, {.step = plain.step + " memoryBarrierBuffer();"});
   expect(1, {.declarations = "shared uint kept[32];",
              .behind = "kept[lane] = sum; barrier(); sum += kept[31 - lane];"});
   expect(1, {.before = "uint own[8]; for (uint i = 0; i < 8; i++) own[i] = row * i;",
              .behind = "sum += own[sum % 8];"});
}

/// Without common memory nothing is shared.
TEST_F(JoinWorkgroups, NotWithoutAGain)
{
   expect(1, {.step = "sum += rows[at + i];"});
   expect(1, {.step = "sum += rows[i] * vector[i];"});
   expect(1, {.step = "sum += rows[at + i] * vector[push.columns - 1];"});
}

TEST(MaxJoinedSums, FollowFromTheRegisters)
{
   EXPECT_EQ(max_joined_sums(512, 32), 4u);
   EXPECT_EQ(max_joined_sums(512, 16), 8u);
   EXPECT_EQ(max_joined_sums(512, 64), 2u);
   EXPECT_EQ(max_joined_sums(256, 32), 1u);
   EXPECT_EQ(max_joined_sums(256, 8), 4u);
}

} // namespace
} // namespace weft::cpu
