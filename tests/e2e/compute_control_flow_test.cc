// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Divergent control flow: invocations of one subgroup take different branches. Each must compute
/// the result of a scalar program. The programs are written once and compiled both as GLSL and as
/// C++.

#include "tests/e2e/compute.h"

#include <cstdint>

/// The text of a function, for GLSL, and the function itself.
#define BOTH(...)                                                                                  \
   __VA_ARGS__                                                                                     \
   static const char *const glsl_text = #__VA_ARGS__;

namespace weft::e2e {

using uint = uint32_t;

namespace collatz {
BOTH(uint f(uint x) {
   uint steps = 0u;
   while (x != 1u && steps < 500u) {
      if (x % 2u == 0u)
         x = x / 2u;
      else
         x = 3u * x + 1u;
      steps++;
   }
   return steps;
})
} // namespace collatz

namespace gcd_of_halves {
BOTH(uint f(uint x) {
   uint a = x / 65536u + 1u;
   uint b = x % 65536u + 1u;
   while (b != 0u) {
      uint t = a % b;
      a = b;
      b = t;
   }
   return a;
})
} // namespace gcd_of_halves

namespace nested_loops {
BOTH(uint f(uint x) {
   uint sum = 0u;
   for (uint i = 0u; i < x % 13u; i++) {
      if (i == x % 7u)
         continue;
      for (uint j = 0u; j < i + 3u; j++) {
         if ((j * i + x) % 11u == 3u)
            break;
         if (j % 3u == 1u)
            continue;
         sum += i * 31u + j;
         if (sum > 4000u)
            return sum + 1000000u;
      }
      if (sum % 17u == 5u)
         break;
      sum += 1u;
   }
   return sum;
})
} // namespace nested_loops

/// A loop with two exits: one is taken at once, the other one alone limits the count.
namespace two_ends {
BOTH(uint f(uint x) {
   uint i = x % 5u - 1u, sum = 0u;
   while (true) {
      i++;
      if (i >= 2u)
         break;
      sum += 5u;
      if (i <= 1u)
         break;
      sum += 100u;
   }
   return sum;
})
} // namespace two_ends

namespace early_returns {
BOTH(uint f(uint x) {
   if (x % 5u == 0u)
      return 1u;
   uint y = x * 2654435761u;
   if (x % 5u == 1u) {
      if (y > 2147483648u)
         return y;
      y = y ^ 12345u;
   } else if (x % 5u == 2u) {
      for (uint i = 0u; i < 40u; i++) {
         y = y * 1664525u + 1013904223u;
         if (y % 8u == 0u)
            return i;
      }
   }
   return y + 7u;
})
} // namespace early_returns

// GLSL has no attribute for intended fall-through.
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
namespace switches {
BOTH(uint f(uint x) {
   uint r = x;
   for (uint i = 0u; i < 4u; i++) {
      switch ((x / (i + 1u)) % 6u) {
      case 0u:
         r += 3u;
         break;
      case 1u:
         r *= 5u;
      case 2u:
         r ^= 77u;
         break;
      case 4u:
         if (r % 2u == 0u)
            break;
         r += 100u;
         break;
      default:
         r -= 9u;
         break;
      }
   }
   return r;
})
} // namespace switches

namespace local_arrays {
BOTH(uint f(uint x) {
   uint a[12];
   for (uint i = 0u; i < 12u; i++)
      a[i] = (x * (i + 1u) * 2654435761u) / 65536u % 1000u;
   for (uint i = 1u; i < 12u; i++) {
      uint v = a[i];
      uint j = i;
      while (j > 0u && a[j - 1u] > v) {
         a[j] = a[j - 1u];
         j--;
      }
      a[j] = v;
   }
   uint hash = 0u;
   for (uint i = 0u; i < 12u; i++)
      hash = hash * 31u + a[i];
   return hash + a[x % 12u];
})
} // namespace local_arrays

namespace short_circuit {
BOTH(uint f(uint x) {
   uint a = x % 7u;
   uint b = x / 7u % 5u;
   bool both = a != 0u && 30u / (a == 0u ? 1u : a) > 7u;
   bool any = b == 0u || a / (b == 0u ? 1u : b) == 1u;
   uint r = both ? (any ? 3u : 2u) : (any ? 1u : 0u);
   do {
      r += a + 1u;
   } while (r < x % 50u);
   return r;
})
} // namespace short_circuit

namespace calls {
BOTH(
   uint leaf(uint x, uint y) {
      if (x > y)
         return x - y;
      return y - x + 1u;
   } uint middle(uint x) {
      uint sum = 0u;
      for (uint i = 0u; i < x % 6u; i++)
         sum += leaf(x % 100u, i * 20u);
      return sum;
   } uint f(uint x) {
      uint r = middle(x);
      if (r % 2u == 1u)
         r = middle(r + x) + leaf(r, 50u);
      return r;
   })
} // namespace calls

static void expect_same(const char *glsl, uint (*f)(uint), const char *name)
{
   SCOPED_TRACE(name);
   Device &device = plain_device();
   oracle::Random random = test_random();
   for (uint32_t size : device.subgroup_sizes()) {
      SCOPED_TRACE("subgroup size " + std::to_string(size));
      std::vector<uint> source(512);
      for (uint &x : source)
         x = uint(random());
      // Adds equal neighbours, for subgroups whose invocations mostly take the same branches.
      std::fill(source.begin() + 100, source.begin() + 150, source[100]);
      const ComputeShader shader = {.source_type = "uint",
                                    .target_type = "uint",
                                    .declarations = glsl,
                                    .body = "   target.data[id] = f(source.data[id]);\n",
                                    .local_size = 128,
                                    .groups = 4,
                                    .subgroup_size = size};
      const std::vector<uint> target = run_compute<uint>(device, shader, source, source.size());
      for (size_t i = 0; i < source.size(); i++)
         ASSERT_EQ(target[i], f(source[i])) << "invocation " << i << ", input " << source[i];
   }
}

TEST(ControlFlow, LoopsOfDifferentLength)
{
   expect_same(collatz::glsl_text, collatz::f, "collatz");
   expect_same(gcd_of_halves::glsl_text, gcd_of_halves::f, "gcd");
   expect_same(two_ends::glsl_text, two_ends::f, "two ends");
}

TEST(ControlFlow, NestedLoopsWithBreakContinueReturn)
{
   expect_same(nested_loops::glsl_text, nested_loops::f, "nested loops");
   expect_same(early_returns::glsl_text, early_returns::f, "early returns");
}

TEST(ControlFlow, Switches)
{
   expect_same(switches::glsl_text, switches::f, "switches");
}

TEST(ControlFlow, LocalArraysWithDivergentIndex)
{
   expect_same(local_arrays::glsl_text, local_arrays::f, "sort");
}

TEST(ControlFlow, ShortCircuitsAndCalls)
{
   expect_same(short_circuit::glsl_text, short_circuit::f, "short circuits");
   expect_same(calls::glsl_text, calls::f, "calls");
}

TEST(ControlFlow, InvocationsBeyondTheWorkgroupDoNothing)
{
   // Workgroups that are no multiple of the subgroup leave invocations of the last one inactive.
   Device &device = plain_device();
   for (uint32_t local : {1u, 3u, 7u, 31u, 33u, 65u, 100u}) {
      SCOPED_TRACE("workgroup of " + std::to_string(local));
      const ComputeShader shader = {.source_type = "uint",
                                    .target_type = "uint",
                                    .declarations = "shared uint total;\n",
                                    .body = R"(   if (gl_LocalInvocationIndex == 0)
      total = 0;
   barrier();
   atomicAdd(total, 1u);
   barrier();
   target.data[id] = total * 1000 + gl_LocalInvocationIndex;
)",
                                    .local_size = local,
                                    .groups = 3};
      const std::vector<uint> target =
         run_compute<uint>(device, shader, std::vector<uint>{0}, 3 * local + 64);
      for (uint32_t i = 0; i < 3 * local; i++)
         ASSERT_EQ(target[i], local * 1000 + i % local);
      std::vector<std::byte> poison(target.size() * 4);
      oracle::fill_poison(poison);
      EXPECT_EQ(memcmp(&poison[3 * local * 4], &target[3 * local], 64 * 4), 0);
   }
}

} // namespace weft::e2e
