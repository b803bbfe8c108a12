// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/runtime_symbols.h"

#include "backend/cpu/kernels/vector_math.h"
#include "backend/cpu/kernels/x86/vector_math_lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>

namespace weft::cpu {
namespace {

/// y = function(x), with vectors of 32 or 64 bytes.
[[gnu::target("avx2")]] void call_avx2(void *function, const void *x, void *y)
{
   using Vector [[gnu::vector_size(32)]] = float;
   Vector v;
   memcpy(&v, x, sizeof(v));
   v = reinterpret_cast<Vector (*)(Vector)>(function)(v);
   memcpy(y, &v, sizeof(v));
}

[[gnu::target("avx512f")]] void call_avx512(void *function, const void *x, void *y)
{
   using Vector [[gnu::vector_size(64)]] = float;
   Vector v;
   memcpy(&v, x, sizeof(v));
   v = reinterpret_cast<Vector (*)(Vector)>(function)(v);
   memcpy(y, &v, sizeof(v));
}

template <typename T>
struct Scalar {
   const char *name;
   T (*function)(T);
};
const Scalar<float> floats[] = {{"v_exp2f", std::exp2}, {"v_log2f", std::log2}};
const Scalar<double> doubles[] = {{"v_exp2", std::exp2}, {"v_log2", std::log2}};

class RuntimeSymbols : public testing::Test {
protected:
   /// Calls every function of a list, and the function of the same name in generated code. libm's
   /// result is the reference for each lane.
   void check(std::span<const VectorFunction> functions, size_t bytes,
              void (*call)(void *, const void *, void *))
   {
      int known = 0;
      for (const VectorFunction &function : functions) {
         SCOPED_TRACE(std::string(function.name));
         void *const linked = find_runtime_symbol(function.name, host_features());
         ASSERT_NE(linked, nullptr);
         for (const auto &scalar : floats)
            known += function.name.ends_with(scalar.name) &&
                     compare(scalar, function.address, linked, bytes, call);
         for (const auto &scalar : doubles)
            known += function.name.ends_with(scalar.name) &&
                     compare(scalar, function.address, linked, bytes, call);
      }
      EXPECT_EQ(known, vector_functions);
   }

private:
   template <typename T>
   bool compare(const Scalar<T> &scalar, void *own, void *linked, size_t bytes,
                void (*call)(void *, const void *, void *))
   {
      constexpr T infinity = std::numeric_limits<T>::infinity();
      std::vector<T> inputs = {0, T(-0.0), 1, 2, -1, infinity, -infinity, T(NAN)};
      std::uniform_real_distribution<T> distribution(-20, 20);
      for (int i = 0; i < 120; i++)
         inputs.push_back(distribution(random));
      const size_t lanes = bytes / sizeof(T);
      for (size_t first = 0; first < inputs.size(); first += lanes) {
         alignas(64) T y[64 / sizeof(T)], z[64 / sizeof(T)];
         call(own, &inputs[first], y);
         call(linked, &inputs[first], z);
         for (size_t lane = 0; lane < lanes; lane++) {
            const T x = inputs[first + lane], expected = scalar.function(x);
            if (std::isnan(expected)) {
               EXPECT_TRUE(std::isnan(y[lane])) << x;
               EXPECT_TRUE(std::isnan(z[lane])) << x;
            } else {
               EXPECT_EQ(y[lane], expected) << x;
               EXPECT_TRUE(z[lane] == expected ||
                           std::abs(z[lane] - expected) <=
                              4 * std::abs(expected) * std::numeric_limits<T>::epsilon())
                  << x << ": " << z[lane] << " for " << expected;
            }
         }
      }
      return true;
   }

   std::mt19937 random{1};
};

TEST_F(RuntimeSymbols, VectorFunctionsOfAvx2)
{
   if (host_features().instruction_set < InstructionSet::avx2)
      GTEST_SKIP() << "this CPU lacks AVX2";
   check(vector_math_avx2, 32, call_avx2);
}

TEST_F(RuntimeSymbols, VectorFunctionsOfAvx512)
{
   if (host_features().instruction_set < InstructionSet::avx512)
      GTEST_SKIP() << "this CPU lacks AVX-512";
   check(vector_math_avx512, 64, call_avx512);
}

TEST_F(RuntimeSymbols, VectorsHaveNames)
{
   EXPECT_EQ(vector_math_symbol("sinf", 8, 32), "_ZGVdN8v_sinf");
   EXPECT_EQ(vector_math_symbol("exp2", 8, 64), "_ZGVeN8v_exp2");
   for (const char *function : {"sin", "cos", "exp2", "log2"})
      for (const unsigned bytes : {32, 64}) {
         const std::string single = std::string(function) + "f";
         EXPECT_NE(find_vector_math(vector_math_symbol(function, bytes / 8, 64)), nullptr);
         EXPECT_NE(find_vector_math(vector_math_symbol(single, bytes / 4, 32)), nullptr);
      }
}

TEST_F(RuntimeSymbols, OthersAreUnknown)
{
   for (const char *name : {"", "system", "_ZGVdN8v_tanf", "_ZGVdN8v_exp2", "exp2fx"})
      EXPECT_EQ(find_runtime_symbol(name, host_features()), nullptr) << name;
   for (const char *name : {"exp2f", "log2", "_ZGVdN8v_sinf", "memcpy"})
      EXPECT_NE(find_runtime_symbol(name, host_features()), nullptr) << name;
}

} // namespace
} // namespace weft::cpu
