// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Atomic operations by all invocations of many workgroups, on several threads.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::cpu {
namespace {

constexpr uint32_t local = 100, groups = 64, places = 7;
constexpr uint32_t invocations = local * groups;

class Atomics : public testing::TestWithParam<uint32_t> {
protected:
   Executor executor{3};
   std::mt19937_64 random{test::test_seed()};
};

INSTANTIATE_TEST_SUITE_P(Sizes, Atomics, testing::Values(8, 16, 32, 64),
                         [](const auto &info) { return std::to_string(info.param); });

template <typename T>
struct AtomicCase {
   const char *function;
   T initial;
   std::function<T(T, T)> combine;
};

template <typename T>
std::vector<AtomicCase<T>> atomic_cases()
{
   return {
      {"atomicAdd", 5, [](T x, T y) { return T(x + y); }},
      {"atomicMin", T(~T(0)) >> 1, [](T x, T y) { return std::min(x, y); }},
      {"atomicMax", 0, [](T x, T y) { return std::max(x, y); }},
      {"atomicAnd", T(~T(0)), [](T x, T y) { return T(x & y); }},
      {"atomicOr", 0, [](T x, T y) { return T(x | y); }},
      {"atomicXor", 9, [](T x, T y) { return T(x ^ y); }},
   };
}

/// The place of an invocation's operation: one place for all invocations, or a place by its data.
const char *const place_expressions[] = {"0", "v % 7", "gl_WorkGroupID.x % 7"};

/// In whole subgroups, or in subgroups with inactive lanes.
template <typename T>
void check_global(Executor &executor, std::mt19937_64 &random, uint32_t W, const char *type,
                  bool whole)
{
   const uint32_t local = whole ? 128 : 100, invocations = groups * local;
   for (const AtomicCase<T> &test : atomic_cases<T>()) {
      for (const char *place : place_expressions) {
         SCOPED_TRACE(std::string(test.function) + " at " + place);
         const std::string glsl = "#define T " + std::string(type) +
                                  "\nlayout(local_size_x = " + std::to_string(local) + R"() in;
layout(set = 0, binding = 0, scalar) buffer I { T a[]; };
layout(set = 0, binding = 1, scalar) buffer P { T places[]; };
layout(set = 0, binding = 2, scalar) buffer O { T o[]; };
void main() {
   uint i = gl_GlobalInvocationID.x;
   T data = a[i];
   uint v = uint(data);
   if ()" + (whole ? "true" : "v % 5 != 0") +
                                  R"()
      o[i] = )" + test.function + "(places[" +
                                  place + R"(], data);
}
)";
         auto program = compile_shader(glsl, W, 3);
         ASSERT_TRUE(program) << program.error().message;
         std::vector<T> a(invocations), at(places, test.initial), o(invocations, T(77));
         for (T &x : a)
            x = T(random() & (sizeof(T) == 8 ? 0x7fffffff0fffffffull : 0x7fffffffull));
         ASSERT_TRUE(
            run_shader(executor, **program,
                       {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(at)),
                        std::as_writable_bytes(std::span(o))},
                       {groups, 1, 1}));
         std::vector<T> expected(places, test.initial);
         for (uint32_t i = 0; i < invocations; i++) {
            const uint32_t v = uint32_t(a[i]);
            if (!whole && v % 5 == 0) {
               ASSERT_EQ(o[i], T(77));
               continue;
            }
            const uint32_t p = place == place_expressions[0]   ? 0
                               : place == place_expressions[1] ? v % 7
                                                               : i / local % 7;
            expected[p] = test.combine(expected[p], a[i]);
         }
         EXPECT_EQ(at, expected);
      }
   }
}

TEST_P(Atomics, Combine32Bits)
{
   for (const bool whole : {false, true})
      check_global<uint32_t>(executor, random, GetParam(), "uint", whole);
}

TEST_P(Atomics, Combine64Bits)
{
   for (const bool whole : {false, true})
      check_global<uint64_t>(executor, random, GetParam(), "uint64_t", whole);
}

/// The old values of a counter are a permutation of 0..n-1 for any order of the lanes.
TEST_P(Atomics, CountersReturnEveryNumberOnce)
{
   for (const char *place : {"0", "gl_LocalInvocationIndex & 0"}) {
      const std::string glsl = std::string(R"(
layout(local_size_x = 100) in;
layout(set = 0, binding = 0) buffer P { uint counter[]; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
void main() { o[gl_GlobalInvocationID.x] = atomicAdd(counter[)") +
                               place + R"(], 1); }
)";
      auto program = compile_shader(glsl, GetParam(), 2);
      ASSERT_TRUE(program) << program.error().message;
      std::vector<uint32_t> counter(1), o(invocations, ~0u), numbers(invocations);
      ASSERT_TRUE(run_shader(
         executor, **program,
         {std::as_writable_bytes(std::span(counter)), std::as_writable_bytes(std::span(o))},
         {groups, 1, 1}));
      EXPECT_EQ(counter[0], invocations);
      std::sort(o.begin(), o.end());
      for (uint32_t i = 0; i < invocations; i++)
         numbers[i] = i;
      EXPECT_EQ(o, numbers);
   }
}

TEST_P(Atomics, ExchangeAndCompare)
{
   // A lock by compare-and-swap would never end on this back end, because lanes wait for each
   // other. So the shader builds a list: each invocation exchanges the head for its own number.
   auto program = compile_shader(R"(
layout(local_size_x = 100) in;
layout(set = 0, binding = 0) buffer H { uint head; uint claimed[]; };
layout(set = 0, binding = 1) buffer O { uint next[]; };
layout(set = 0, binding = 2) buffer W { uint winner[]; };
void main() {
   uint i = gl_GlobalInvocationID.x;
   next[i] = atomicExchange(head, i);
   winner[i] = atomicCompSwap(claimed[i % 7], 0xffffffff, i);
}
)",
                                 GetParam(), 3);
   ASSERT_TRUE(program) << program.error().message;
   std::vector<uint32_t> head(1 + places, ~0u), next(invocations), winner(invocations, 77);
   ASSERT_TRUE(
      run_shader(executor, **program,
                 {std::as_writable_bytes(std::span(head)), std::as_writable_bytes(std::span(next)),
                  std::as_writable_bytes(std::span(winner))},
                 {groups, 1, 1}));
   // The list contains every invocation.
   uint32_t length = 0;
   for (uint32_t i = head[0]; i != ~0u && length <= invocations; i = next[i])
      length++;
   EXPECT_EQ(length, invocations);
   // In each place one invocation read the initial value, and all others read the number of that
   // invocation.
   for (uint32_t i = 0; i < invocations; i++) {
      const uint32_t owner = head[1 + i % places];
      ASSERT_EQ(owner % places, i % places);
      ASSERT_EQ(winner[i], i == owner ? ~0u : owner);
   }
}

TEST_P(Atomics, SharedMemory)
{
   auto program = compile_shader(R"(
layout(local_size_x = 100) in;
layout(set = 0, binding = 0) buffer I { uint a[]; };
layout(set = 0, binding = 1) buffer O { uint o[]; };
shared uint bins[8], total, highest;
void main() {
   uint l = gl_LocalInvocationIndex, v = a[gl_GlobalInvocationID.x];
   if (l < 8) bins[l] = 0;
   if (l == 0) { total = 0; highest = 0; }
   barrier();
   atomicAdd(bins[v % 8], 1);
   if (v % 3 == 0) atomicAdd(total, v);
   atomicMax(highest, v);
   barrier();
   if (l < 8) o[gl_WorkGroupID.x * 10 + l] = bins[l];
   if (l == 0) { o[gl_WorkGroupID.x * 10 + 8] = total; o[gl_WorkGroupID.x * 10 + 9] = highest; }
}
)",
                                 GetParam(), 2);
   ASSERT_TRUE(program) << program.error().message;
   std::vector<uint32_t> a(invocations), o(groups * 10, 77), expected(groups * 10, 0);
   for (uint32_t i = 0; i < invocations; i++) {
      a[i] = uint32_t(random());
      uint32_t *out = &expected[i / local * 10];
      out[a[i] % 8]++;
      out[8] += a[i] % 3 == 0 ? a[i] : 0;
      out[9] = std::max(out[9], a[i]);
   }
   ASSERT_TRUE(
      run_shader(executor, **program,
                 {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(o))},
                 {groups, 1, 1}));
   EXPECT_EQ(o, expected);
}

TEST_P(Atomics, OutOfBoundsTouchNothing)
{
   auto program = compile_shader(R"(
layout(local_size_x = 100) in;
layout(set = 0, binding = 0) buffer P { uint places[]; };
void main() {
   atomicAdd(places[1000], 1);
   atomicAdd(places[gl_LocalInvocationIndex + 3], 1);
}
)",
                                 GetParam(), 1);
   ASSERT_TRUE(program) << program.error().message;
   std::vector<uint32_t> memory(1024, 7);
   ASSERT_TRUE(run_shader(executor, **program,
                          {std::as_writable_bytes(std::span(memory)).first(20)}, {1, 1, 1}));
   EXPECT_EQ(memory[3], 8u);
   EXPECT_EQ(memory[4], 8u);
   for (size_t i = 5; i < memory.size(); i++)
      ASSERT_EQ(memory[i], 7u);
}

} // namespace
} // namespace weft::cpu
