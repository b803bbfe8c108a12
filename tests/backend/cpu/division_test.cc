// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Divisions of vectors by a number that all lanes share. alu_test.cc divides by other vectors.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <random>

namespace weft::cpu {
namespace {

constexpr uint32_t lanes = 32;

/// Each workgroup has a divisor of its own: words 0 … groups - 1 of a.
template <typename Number>
void check(const std::string &type)
{
   auto program = compile_shader("layout(local_size_x = 32) in;\n"
                                 "layout(binding = 0) readonly buffer A { " +
                                    type +
                                    " a[]; };\n"
                                    "layout(binding = 1) readonly buffer B { " +
                                    type +
                                    " b[]; };\n"
                                    "layout(binding = 2) buffer Q { " +
                                    type +
                                    " q[]; };\n"
                                    "layout(binding = 3) buffer R { " +
                                    type + R"( r[]; };
      void main() {
         const uint i = gl_GlobalInvocationID.x;
         q[i] = b[i] / a[gl_WorkGroupID.x];
         r[i] = b[i] % a[gl_WorkGroupID.x];
      }
   )",
                                 lanes, 4);
   ASSERT_TRUE(program) << program.error().message;
   std::mt19937_64 random(test::test_seed());
   constexpr Number most = Number(-1);
   std::vector<Number> divisors = {1,        2,   3, 5, 7, 10, 64, 100, most / 2, most / 2 + 1,
                                   most - 1, most};
   for (int i = 0; i < 1000; i++)
      divisors.push_back(
         Number(std::max<uint64_t>(1, uint64_t(Number(random())) >> random() % 32)));
   std::vector<Number> numbers;
   for (const Number y : divisors) {
      // Neighbours of multiples are the hardest.
      for (uint32_t l = 0; l < lanes; l++) {
         const Number multiple = Number(l == 0 ? most / y * y : Number(random()) / y * y);
         numbers.push_back(Number(l % 4 == 3 ? random() : multiple + l % 4 - 1));
      }
   }
   std::vector<Number> quotients(numbers.size()), remainders(numbers.size());
   Executor executor(1);
   ASSERT_TRUE(run_shader(
      executor, **program,
      {std::as_writable_bytes(std::span(divisors)), std::as_writable_bytes(std::span(numbers)),
       std::as_writable_bytes(std::span(quotients)), std::as_writable_bytes(std::span(remainders))},
      {uint32_t(divisors.size()), 1, 1}));
   for (size_t i = 0; i < numbers.size(); i++) {
      const Number x = numbers[i], y = divisors[i / lanes];
      ASSERT_EQ(quotients[i], Number(x / y)) << uint64_t(x) << " / " << uint64_t(y);
      ASSERT_EQ(remainders[i], Number(x % y)) << uint64_t(x) << " % " << uint64_t(y);
   }
}

TEST(Division, ByOneNumber)
{
   check<uint32_t>("uint");
   check<uint16_t>("uint16_t");
   check<uint8_t>("uint8_t");
}

/// A reciprocal, which a loop computes once, takes the place of divisions.
TEST(Division, ByOneNumberNeedsNoVectorDivision)
{
   const auto code = [](const std::string &divisor) {
      CompileOptions options;
      options.subgroup_size = 16;
      options.robust_buffer_access = false;
      return dump_of_shader(R"(
         layout(local_size_x = 16) in;
         layout(binding = 0) readonly buffer A { uint a[]; };
         layout(binding = 1) buffer O { uint o[]; };
         void main() {
            const uint i = gl_LocalInvocationIndex;
            o[i] = a[i] / a[)" +
                               divisor + R"(];
         }
      )",
                            2, "llvm-opt", options);
   };
   EXPECT_EQ(code("3").find("fdiv <"), std::string::npos) << code("3");
   EXPECT_NE(code("i ^ 3").find("fdiv <"), std::string::npos);
}

} // namespace
} // namespace weft::cpu
