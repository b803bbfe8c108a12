// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// SPIR-V's dot products of four bytes in a word, with and without saturation.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <random>

namespace weft::cpu {
namespace {

constexpr uint32_t invocations = 256;

struct Dot {
   bool a_signed, b_signed, saturates;

   /// The bits of the expected result.
   uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const
   {
      const auto part = [](uint32_t word, uint32_t i, bool is_signed) {
         const uint8_t byte = uint8_t(word >> 8 * i);
         return is_signed ? int64_t(int8_t(byte)) : int64_t(byte);
      };
      const bool is_signed = a_signed || b_signed;
      int64_t sum = 0;
      for (uint32_t i = 0; i < 4; i++)
         sum += part(a, i, a_signed) * part(b, i, b_signed);
      if (!saturates)
         return uint32_t(sum);
      sum += is_signed ? int64_t(int32_t(c)) : int64_t(c);
      return is_signed ? uint32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX))
                       : uint32_t(std::clamp<int64_t>(sum, 0, UINT32_MAX));
   }
};

using Words = std::vector<uint32_t>;

void fill(std::initializer_list<Words *> buffers)
{
   std::mt19937 random{uint32_t(test::test_seed())};
   for (Words *buffer : buffers) {
      for (uint32_t &word : *buffer)
         word = uint32_t(random());
   }
}

bool run_on(const Program &program, std::initializer_list<Words *> buffers)
{
   std::vector<std::span<std::byte>> bytes;
   for (Words *buffer : buffers)
      bytes.push_back(std::as_writable_bytes(std::span(*buffer)));
   Executor executor(1);
   return run_shader(executor, program, bytes, {invocations / 64, 1, 1});
}

class IntegerDot : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Sizes, IntegerDot, testing::Values(8, 16, 32, 64),
                         [](const auto &info) { return std::to_string(info.param); });

TEST_P(IntegerDot, OfPackedBytes)
{
   const std::vector<Dot> dots = {
      {true, true, false}, {false, false, false}, {true, false, false}, {false, true, false},
      {true, true, true},  {false, false, true},  {true, false, true},
   };
   std::string body;
   for (size_t i = 0; i < dots.size(); i++) {
      const Dot &d = dots[i];
      const auto cast = [](bool is_signed) { return is_signed ? "int(" : "uint("; };
      std::string call = std::string(d.saturates ? "dotPacked4x8AccSatEXT(" : "dotPacked4x8EXT(") +
                         cast(d.a_signed) + "a[i]), " + cast(d.b_signed) + "b[i])";
      if (d.saturates)
         call += std::string(", ") + cast(d.a_signed || d.b_signed) + "c[i])";
      body += "   o[" + std::to_string(i * invocations) + " + i] = uint(" + call + "));\n";
   }
   auto program = compile_shader(R"(
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
layout(set = 0, binding = 2) buffer C { uint c[]; };
layout(set = 0, binding = 3) buffer O { uint o[]; };
void main() {
   uint i = gl_GlobalInvocationID.x;
)" + body + "}\n",
                                 GetParam(), 4);
   ASSERT_TRUE(program) << program.error().message;

   std::mt19937 random{uint32_t(test::test_seed())};
   Words a(invocations), b(invocations), c(invocations), o(dots.size() * invocations);
   for (uint32_t i = 0; i < invocations; i++) {
      const auto word = [&] { return random() % 4 ? uint32_t(random()) : 0x7f80ff81u; };
      a[i] = word();
      b[i] = word();
      c[i] = random() % 2 ? uint32_t(random()) : 0x7ffffff0u << random() % 2;
   }
   ASSERT_TRUE(run_on(**program, {&a, &b, &c, &o}));
   for (size_t k = 0; k < dots.size(); k++)
      for (uint32_t i = 0; i < invocations; i++)
         ASSERT_EQ(o[k * invocations + i], dots[k](a[i], b[i], c[i]))
            << "case " << k << ", " << std::hex << a[i] << " " << b[i] << " " << c[i];
}

/// Sums over the components of loads, as in products of quantized rows: a lane's bytes in memory
/// are multiplied in place (packed_sums.h).
constexpr const char *sums_of_components = R"(
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uvec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { ivec4 b[]; };
layout(set = 0, binding = 2) buffer O { int o[]; };
void main() {
   const uint i = gl_LocalInvocationIndex;
   if (gl_NumWorkGroups.x == 0)
      return;
   const uint place = gl_WorkGroupID.x * 64 + i;
   const uvec4 nibbles = a[place / 4 * 2 + place % 2];
   const uint by = place / 2 % 2 * 4;
   const ivec4 y = b[place];
   int sum = o[place];
   for (uint c = 0; c < 4; c++)
      sum += dotPacked4x8EXT(int((nibbles[c] >> by) & 0x0f0f0f0fu), y[c]);
   o[place] = sum;
   // Of other components, and of other operations on them.
   sum = dotPacked4x8EXT(int(nibbles.x), y.y) + dotPacked4x8EXT(int(nibbles.y), y.x);
   sum += dotPacked4x8EXT(int(nibbles.z), y.z) + dotPacked4x8EXT(int(nibbles.w >> 1), y.w);
   o[256 + place] = sum;
}
)";

TEST_P(IntegerDot, SumsOfComponents)
{
   auto program = compile_shader(sums_of_components, GetParam(), 3);
   ASSERT_TRUE(program) << program.error().message;

   Words a(4 * invocations / 2), b(4 * invocations), o(2 * invocations), expected(2 * invocations);
   fill({&a, &b, &o});
   const Dot dot = {true, true, false};
   for (uint32_t i = 0; i < invocations; i++) {
      const uint32_t *x = &a[4 * (i / 4 * 2 + i % 2)], *y = &b[4 * i], by = i / 2 % 2 * 4;
      expected[i] = o[i];
      for (uint32_t c = 0; c < 4; c++)
         expected[i] += dot(x[c] >> by & 0x0f0f0f0f, y[c], 0);
      expected[invocations + i] =
         dot(x[0], y[1], 0) + dot(x[1], y[0], 0) + dot(x[2], y[2], 0) + dot(x[3] >> 1, y[3], 0);
   }
   ASSERT_TRUE(run_on(**program, {&a, &b, &o}));
   EXPECT_EQ(o, expected);
}

/// Sums of products that are operands of further sums, and have other uses too.
constexpr const char *sums_that_go_on = R"(
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { WORD a[]; };
layout(set = 0, binding = 1) readonly buffer B { WORD b[]; };
layout(set = 0, binding = 2) buffer O { uint o[]; };
void main() {
   const uint i = gl_GlobalInvocationID.x;
   uint sum = o[i], half_way;
   for (uint n = 0; n < 8; n++) {
      sum += uint(dotPacked4x8EXT(a[(i + n) % 256], b[(i + 3 * n) % 256]));
      if (n == 3)
         half_way = sum;
      if (n == 5 && (i & 1) != 0)
         sum = sum * 3 + 1;
   }
   o[i] = sum;
   o[256 + i] = half_way;
}
)";

TEST_P(IntegerDot, SumsThatGoOn)
{
   for (const bool is_signed : {true, false}) {
      const std::string word = is_signed ? "#define WORD int" : "#define WORD uint";
      auto program = compile_shader(word + sums_that_go_on, GetParam(), 3);
      ASSERT_TRUE(program) << program.error().message;

      Words a(invocations), b(invocations), o(2 * invocations), expected(2 * invocations);
      fill({&a, &b, &o});
      const Dot dot = {is_signed, is_signed, false};
      for (uint32_t i = 0; i < invocations; i++) {
         uint32_t sum = o[i];
         for (uint32_t n = 0; n < 8; n++) {
            sum += dot(a[(i + n) % invocations], b[(i + 3 * n) % invocations], 0);
            if (n == 3)
               expected[invocations + i] = sum;
            if (n == 5 && i % 2 != 0)
               sum = sum * 3 + 1;
         }
         expected[i] = sum;
      }
      ASSERT_TRUE(run_on(**program, {&a, &b, &o}));
      EXPECT_EQ(o, expected) << (is_signed ? "signed" : "unsigned");
   }
}

/// Long chains of products with bytes that masks make small: their sums of words must not overflow.
TEST_P(IntegerDot, OfSmallBytes)
{
   constexpr uint32_t products = 10;
   const uint32_t masks[] = {0x01010101, 0x0f0f0f0f, 0x1f1f1f1f, 0x3f3f3f3f,
                             0x7f7f7f7f, 0x0f7f0130, 0xff7f7f7f, 0};
   const Dot kinds[] = {{true, true, false}, {false, false, false}, {true, false, false}};
   std::string body;
   for (const Dot &kind : kinds) {
      for (const uint32_t mask : masks) {
         const auto factor = [](bool is_signed, const std::string &value) {
            return (is_signed ? "int(" : "uint(") + value + ")";
         };
         const std::string small = "((a[i] >> 1 & " + std::to_string(mask & 0x3f3f3f3f) +
                                   "u) | (a[i] & " + std::to_string(mask & ~0x3f3f3f3fu) + "u))";
         body += "   sum = 7u;\n   for (uint n = 0; n < " + std::to_string(products) +
                 "; n++) {\n"
                 "      const uint y = b[(i + n) % 256];\n      sum += uint(dotPacked4x8EXT(";
         // A third of the masks is of the second factor.
         const std::string x = mask % 3 ? small : "y", y = mask % 3 ? "y" : small;
         body += factor(kind.a_signed, x) + ", " + factor(kind.b_signed, y) +
                 "));\n   }\n   o[at + i] = sum; at += 256;\n";
      }
   }
   auto program = compile_shader(R"(
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { uint a[]; };
layout(set = 0, binding = 1) readonly buffer B { uint b[]; };
layout(set = 0, binding = 2) buffer O { uint o[]; };
void main() {
   const uint i = gl_GlobalInvocationID.x;
   uint sum, at = 0;
)" + body + "}\n",
                                 GetParam(), 3);
   ASSERT_TRUE(program) << program.error().message;

   Words a(invocations), b(invocations), o(std::size(kinds) * std::size(masks) * invocations),
      expected(o.size());
   fill({&a, &b, &o});
   for (uint32_t i = 0; i < invocations; i += 3) {
      a[i] = 0xffffffff; // the largest small bytes
      b[i] = b[(i + 1) % invocations] = i % 2 ? 0x80808080 : 0x7f7f7f7f;
   }
   auto next = expected.begin();
   for (const Dot &kind : kinds) {
      for (const uint32_t mask : masks) {
         for (uint32_t i = 0; i < invocations; i++) {
            const uint32_t small = (a[i] >> 1 & mask & 0x3f3f3f3f) | (a[i] & mask & ~0x3f3f3f3fu);
            uint32_t sum = 7;
            for (uint32_t n = 0; n < products; n++) {
               const uint32_t y = b[(i + n) % invocations];
               sum += mask % 3 ? kind(small, y, 0) : kind(y, small, 0);
            }
            *next++ = sum;
         }
      }
   }
   ASSERT_TRUE(run_on(**program, {&a, &b, &o}));
   for (size_t n = 0; n < o.size(); n++)
      ASSERT_EQ(o[n], expected[n]) << "kind " << n / invocations / std::size(masks) << ", mask "
                                   << n / invocations % std::size(masks) << ", " << n % invocations;
}

/// The assembly of a chain of products: of these types of buffers, so many, with these factors.
std::string code_of_chain(const std::string &a, const std::string &b, uint32_t products,
                          const std::string &factors)
{
   CompileOptions options;
   options.subgroup_size = 8;
   return dump_of_shader(R"(
#extension GL_EXT_integer_dot_product : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer A { )" +
                            a + R"( a[]; };
layout(set = 0, binding = 1) readonly buffer B { )" +
                            b + R"( b[]; };
layout(set = 0, binding = 2) buffer O { int o[]; };
void main() {
   const uint i = gl_GlobalInvocationID.x;
   int sum = 0;
   for (uint n = 0; n < )" + std::to_string(products) +
                            R"(; n++)
      sum += dotPacked4x8EXT()" +
                            factors + R"();
   o[i] = sum;
}
)",
                         3, "asm", options);
}

/// Without VPDPBUSD, small bytes need one multiplication, and their sums one addition for many.
TEST(IntegerDotSums, OfSmallBytesAreWords)
{
   if (host_features().target.byte_dots)
      GTEST_SKIP() << "VPDPBUSD adds the products of bytes";
   const std::string code =
      code_of_chain("uint", "int", 10, "int(a[i + n] & 0x0f0f0f0fu), b[i + n]");
   EXPECT_EQ(count(code, "vpmaddubsw"), 10u) << code;
   EXPECT_EQ(count(code, "vpmaddwd"), 2u) << code;
}

/// The bias of one factor's bytes is subtracted once, at the end.
TEST(IntegerDotSums, AreMovedBackOnce)
{
   if (!host_features().target.byte_dots)
      GTEST_SKIP() << "no VPDPBUSD";
   const std::string code = code_of_chain("ivec4", "ivec4", 6, "a[i].x ^ int(n), b[i].y ^ int(n)");
   EXPECT_EQ(count(code, "vpdpbusd"), 12u) << code;
   EXPECT_EQ(count(code, "vpsubd"), 1u) << code;
}

/// Shifts apply to the sums, not to the parts of bytes.
TEST(PackedSums, FactorsAreNotTakenApart)
{
   if (!host_features().target.byte_dots)
      GTEST_SKIP() << "without VPDPBUSD, small bytes are shifted first";
   CompileOptions options;
   options.subgroup_size = 32;
   options.robust_buffer_access = true; // robust access gives the compiler more facts about
                                        // addresses
   const std::string code = dump_of_shader(sums_of_components, 3, "llvm", options);
   EXPECT_NE(code.find("and <128 x i32>"), std::string::npos) << code;
   const std::string by = "ashr <32 x i32> %", constants = ", <i32 0, i32 0, i32 4, i32 4, ";
   const size_t at = code.find(by);
   ASSERT_NE(at, std::string::npos) << code;
   EXPECT_EQ(code.find(constants, at), code.find(", ", at)) << code;
}

} // namespace
} // namespace weft::cpu
