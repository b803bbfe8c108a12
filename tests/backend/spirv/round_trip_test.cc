// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The back end's modules compute the same as the shader. They run on this machine's CPU from each
/// version of SPIR-V, with matrices kept and as registers, and for drivers with peculiarities.

#include "tests/backend/spirv/compiled.h"
#include "tests/nir_passes/mutants.h"
#include "tools/runner/runner.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace weft {
namespace {

constexpr size_t buffer_bytes = 1 << 20;

/// Whole numbers of a few bits, which every order of summation gets right.
template <typename Write>
std::vector<std::byte> whole_numbers(std::mt19937 &random, Write write)
{
   std::vector<std::byte> bytes(buffer_bytes);
   write(bytes, [&] { return int(random() % 9) - 4; });
   return bytes;
}

uint16_t half(int number)
{
   if (number == 0)
      return 0;
   const unsigned size = unsigned(abs(number)), log2 = size >= 4 ? 2 : size >= 2 ? 1 : 0;
   return uint16_t((number < 0 ? 0x8000 : 0) | (15 + log2) << 10 | (size << (10 - log2) & 0x3ff));
}

std::vector<std::byte> halves(std::mt19937 &random)
{
   return whole_numbers(random, [](std::vector<std::byte> &bytes, auto number) {
      for (size_t i = 0; i < bytes.size(); i += 2) {
         const uint16_t value = half(number());
         memcpy(&bytes[i], &value, sizeof(value));
      }
   });
}

std::vector<std::byte> floats(std::mt19937 &random)
{
   return whole_numbers(random, [](std::vector<std::byte> &bytes, auto number) {
      for (size_t i = 0; i < bytes.size(); i += 4) {
         const float value = float(number());
         memcpy(&bytes[i], &value, sizeof(value));
      }
   });
}

std::vector<std::byte> words(std::mt19937 &random)
{
   return whole_numbers(random, [](std::vector<std::byte> &bytes, auto number) {
      for (size_t i = 0; i < bytes.size(); i += 4) {
         const int32_t value = number() + 4;
         memcpy(&bytes[i], &value, sizeof(value));
      }
   });
}

void expect_same(size_t buffer, const std::vector<std::byte> &found,
                 const std::vector<std::byte> &expected)
{
   ASSERT_EQ(found.size(), expected.size());
   const auto [at, other] = std::ranges::mismatch(found, expected);
   if (at == found.end())
      return;
   const size_t word = size_t(at - found.begin()) / 4;
   uint32_t x, y;
   memcpy(&x, &found[word * 4], 4);
   memcpy(&y, &expected[word * 4], 4);
   ADD_FAILURE() << "word " << word << " of buffer " << buffer << ": " << std::hex << x
                 << " and not " << y;
}

/// Runs both paths through SPIR-V for each driver, if its module differs. The direct path has
/// matrices as registers. Through SPIR-V the registers, and so the components' values, are the
/// same.
void expect_round_trips(const runner::Dispatch &dispatch, bool components = false,
                        bool float16 = true, bool int16 = true)
{
   runner::Path direct;
   direct.subgroup_size = 16;
   direct.matrices = runner::Matrices::registers;
   const auto expected = runner::run(dispatch, direct);
   ASSERT_TRUE(expected) << expected.error().message;
   EXPECT_NE(expected->back().bytes, dispatch.buffers.back().bytes);

   for (const uint32_t version : test::spirv_versions) {
      for (const bool plain : {true, false}) {
         for (const auto matrices : {runner::Matrices::tiles, runner::Matrices::registers}) {
            if (components && matrices == runner::Matrices::tiles)
               continue;
            SCOPED_TRACE(testing::Message()
                         << std::hex << "version " << version << ", with peculiarities " << !plain
                         << ", tiles " << (matrices == runner::Matrices::tiles));
            spirv::Driver driver = spirv::full_driver();
            driver.spirv_version = version;
            driver.subgroup_arithmetic_with_matrices = plain;
            driver.robust_buffer_access_2 = !plain;
            driver.integer_dot_product = plain;
            driver.subgroup_extended_types = plain;
            driver.float16 = float16;
            driver.int16 = int16;
            runner::Path path = direct;
            path.through_spirv = true;
            path.matrices = matrices;
            const auto found = runner::run(dispatch, path, {.driver = driver});
            ASSERT_TRUE(found) << found.error().message;
            for (size_t i = 0; i < dispatch.buffers.size(); ++i)
               expect_same(i, (*found)[i].bytes, (*expected)[i].bytes);
         }
      }
   }
}

template <typename... Values>
std::vector<std::byte> packed(const Values &...values)
{
   std::vector<std::byte> bytes;
   const auto append = [&](const auto &value) {
      const auto *begin = reinterpret_cast<const std::byte *>(&value);
      bytes.insert(bytes.end(), begin, begin + sizeof(value));
   };
   (append(values), ...);
   return bytes;
}

class RoundTrip : public testing::Test {
protected:
   std::mt19937 random{test::mutation_seed()};
   const std::vector<test::Source> sources = test::mutation_originals();
};

TEST_F(RoundTrip, Products)
{
   expect_round_trips({
      .source = sources[0].shader_source(),
      .buffers = {{{0, 0}, halves(random)}, {{0, 1}, halves(random)}, {{0, 2}, floats(random)}},
      /* A stride with which no two tiles of the result lie over each other. */
      .push_constants = packed(uint32_t(512), uint32_t(32)),
   });
}

TEST_F(RoundTrip, BytesByAddress)
{
   std::vector<int8_t> left(1024), right(1024);
   for (size_t i = 0; i < left.size(); ++i) {
      left[i] = int8_t(random());
      right[i] = int8_t(random());
   }
   expect_round_trips(
      {
         .source = sources[2].shader_source(),
         .buffers = {{{0, 0}, words(random)}},
         .push_constants = packed(left.data(), right.data(), uint32_t(2)),
      },
      /* The shader adds up each invocation's first component. */
      true);
}

/// Drivers without arithmetic of 16 bits: integers at both ends of their range, and halves that
/// overflow and lose bits.
TEST_F(RoundTrip, Halves)
{
   const test::Source source = test::compile(R"(
      layout(binding = 0) buffer F { float f[]; };
      layout(binding = 1) buffer S { int16_t s[]; };
      layout(binding = 2) buffer H { float16_t h[]; };
      void main() {
         const uint i = gl_LocalInvocationIndex;
         coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
         m = m * float16_t(f[0]) + m;
         coopMatStore(m, h, 256, 16, gl_CooperativeMatrixLayoutColumnMajor);
         const float16_t x = h[i], y = h[i + 64];
         h[1024 + i] = x > y ? x * y - x : max(x, -y);
         h[1088 + i] = float16_t(f[i] * 1.0009765625 * exp2(float(i) - 26.0));
         h[1152 + i] = float16_t(s[i]);
         const int16_t a = s[i], b = s[i + 64];
         s[1024 + i] = (a + b * 3s) ^ (a >> 3s) | (b << 2s);
         s[1088 + i] = a < b ? a / 7s : min(b, a % 5s);
         s[1152 + i] = int16_t(x);
         f[1024 + i] = float(a) + float(uint16_t(b)) + float(uint(uint16_t(a)) / uint(uint16_t(b) | 1));
         f[1088 + i] = float(x) + float(int(a) > int(b));
      })");
   std::vector<std::byte> numbers(buffer_bytes);
   for (std::byte &byte : numbers)
      byte = std::byte(random());
   for (const bool reals : {false, true}) {
      for (const bool integers : {false, true}) {
         SCOPED_TRACE(testing::Message() << "floats " << reals << ", integers " << integers);
         expect_round_trips(
            {
               .source = source.shader_source(),
               .buffers = {{{0, 0}, floats(random)}, {{0, 1}, numbers}, {{0, 2}, halves(random)}},
            },
            true, reals, integers);
      }
   }
   /* Products with halves in shared memory. */
   expect_round_trips(
      {
         .source = sources[0].shader_source(),
         .buffers = {{{0, 0}, halves(random)}, {{0, 1}, halves(random)}, {{0, 2}, floats(random)}},
         .push_constants = packed(uint32_t(512), uint32_t(32)),
      },
      true, false, false);
}

/// Everything of subgroups, memory and types that gives whole numbers, beside a matrix.
TEST_F(RoundTrip, MemoryAndSubgroups)
{
   const test::Source source = test::compile(R"(
      layout(binding = 0, std140) uniform U { uvec4 u[64]; };
      layout(binding = 1) buffer B { uint b[]; };
      layout(binding = 2) buffer F { float f[]; };
      layout(push_constant) uniform P { layout(offset = 16) uint first; uint second[3]; };
      shared uint s[64];
      shared float16_t h[512];
      void main() {
         const uint i = gl_LocalInvocationIndex;
         coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m;
         coopMatLoad(m, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
         for (uint k = i; k < 512; k += 64)
            h[k] = float16_t(f[k]);
         s[i] = u[i][i & 3] + first + second[i & 1];
         barrier();
         const uint x = s[63 - i] + u[i >> 2].y;
         uint r = subgroupAdd(x) + subgroupExclusiveMin(x) * 3 + subgroupInclusiveXor(x);
         if ((x & 1) == 0)
            r += subgroupClusteredMax(x, 4) + subgroupExclusiveAdd(x) + subgroupBallot(true).x;
         r += subgroupShuffle(x, x & 7) + subgroupBroadcast(x, 3) + subgroupRotate(x, 5);
         r += uint(subgroupAll(x > 2)) + uint(subgroupOr(i == 3)) + uint(h[i * 3]);
         b[512 + i] = r;
         b[1024 + i * 2] = uint(i16vec2(subgroupMin(int16_t(x)), subgroupAdd(int16_t(x))).y);
         m = m * subgroupMax(float(x & 3));
         coopMatStore(m, f, 512, 16, gl_CooperativeMatrixLayoutColumnMajor);
      })");
   expect_round_trips({
      .source = source.shader_source(),
      .buffers = {{{0, 0}, words(random)}, {{0, 1}, words(random)}, {{0, 2}, floats(random)}},
      .push_constants = packed(0, 0, 0, 0, uint32_t(7), uint32_t(9), uint32_t(11), uint32_t(13)),
   });
}

} // namespace
} // namespace weft
