// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A product and a sum that the shader fuses are one operation, also if the product has other uses.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace weft::cpu {
namespace {

/// For each pair of numbers, their rounded product and its rounding error. `type` is the type in
/// memory, `computed` the type of the computation.
template <typename T>
std::vector<T> run_compensated(const std::string &type, const std::string &computed,
                               const std::vector<T> &factors)
{
   const std::string f = computed + "(factors[2 * i]), b = " + computed + "(factors[2 * i + 1])";
   const auto program =
      compile_shader("layout(local_size_x = 64) in;\n"
                     "layout(binding = 0) buffer Factors { " +
                        type + " factors[]; };\nlayout(binding = 1) buffer Results { " + type +
                        " results[]; };\nvoid main() { const uint i = gl_LocalInvocationIndex;\n" +
                        computed + " a = " + f + ", p = a * b; results[2 * i] = " + type +
                        "(p); results[2 * i + 1] = " + type + "(fma(a, b, -p)); }",
                     16, 2);
   std::vector<T> in = factors, out(factors.size());
   if (!program) {
      ADD_FAILURE() << program.error().message;
      return out;
   }
   Executor executor{1};
   const std::vector<std::span<std::byte>> buffers = {std::as_writable_bytes(std::span(in)),
                                                      std::as_writable_bytes(std::span(out))};
   EXPECT_TRUE(run_shader(executor, **program, buffers, {1, 1, 1}));
   return out;
}

template <typename T>
void expect_rests(const std::string &type)
{
   std::mt19937_64 random(1);
   std::vector<T> factors(128);
   for (T &f : factors)
      f = std::uniform_real_distribution<T>(1, 2)(random);
   const std::vector<T> results = run_compensated(type, type, factors);
   unsigned rests = 0;
   for (size_t i = 0; i < 64; i++) {
      const T a = factors[2 * i], b = factors[2 * i + 1];
      EXPECT_EQ(results[2 * i], a * b);
      EXPECT_EQ(results[2 * i + 1], std::fma(a, b, -(a * b)));
      rests += results[2 * i + 1] != 0;
   }
   EXPECT_GT(rests, 50u);
}

TEST(Fma, IsFusedAlsoWhereTheProductIsNeeded)
{
   expect_rests<float>("float");
   expect_rests<double>("double");
}

/// Halves between 1 and 2: product and remainder equal the exact product's, which a float holds.
TEST(Fma, OfHalvesIsFusedToo)
{
   std::mt19937 random(1);
   std::vector<float> factors(128);
   for (float &f : factors)
      f = 1 + float(random() % 1024) / 1024;
   const std::vector<float> results = run_compensated("float", "float16_t", factors);
   unsigned rests = 0;
   for (size_t i = 0; i < 64; i++) {
      EXPECT_EQ(results[2 * i] + results[2 * i + 1], factors[2 * i] * factors[2 * i + 1]);
      rests += results[2 * i + 1] != 0;
   }
   EXPECT_GT(rests, 50u);
}

/// Operations that the shader forbids to contract stay apart.
TEST(Fma, PreciseProductsAndSumsAreNotFused)
{
   CompileOptions options;
   options.subgroup_size = 16;
   const std::string llvm =
      dump_of_shader("layout(local_size_x = 64) in;\n"
                     "layout(binding = 0) buffer F { float f[]; };\n"
                     "void main() { const uint i = gl_LocalInvocationIndex * 4;\n"
                     "precise float x = f[i] * f[i + 1] + f[i + 2]; f[i + 3] = x; }",
                     1, "llvm", options);
   EXPECT_EQ(count(llvm, "@llvm.fma"), 0u) << llvm;
   EXPECT_GT(count(llvm, " fmul "), 0u) << llvm;
}

} // namespace
} // namespace weft::cpu
