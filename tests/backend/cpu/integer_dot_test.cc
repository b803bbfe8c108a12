// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// SPIR-V's dot products of four bytes in a word, with and without saturation.

#include "tests/backend/cpu/seed.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::cpu {
namespace {

constexpr uint32_t count = 256;

struct Dot {
   bool a_signed, b_signed, saturates;

   /// As the result's bits.
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
      body += "   o[" + std::to_string(i * count) + " + i] = uint(" + call + "));\n";
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
   std::vector<uint32_t> a(count), b(count), c(count), o(dots.size() * count);
   for (uint32_t i = 0; i < count; i++) {
      const auto word = [&] { return random() % 4 ? uint32_t(random()) : 0x7f80ff81u; };
      a[i] = word();
      b[i] = word();
      c[i] = random() % 2 ? uint32_t(random()) : 0x7ffffff0u << random() % 2;
   }
   Executor executor(1);
   ASSERT_TRUE(
      run_shader(executor, **program,
                 {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b)),
                  std::as_writable_bytes(std::span(c)), std::as_writable_bytes(std::span(o))},
                 {count / 64, 1, 1}));
   for (size_t k = 0; k < dots.size(); k++)
      for (uint32_t i = 0; i < count; i++)
         ASSERT_EQ(o[k * count + i], dots[k](a[i], b[i], c[i]))
            << "case " << k << ", " << std::hex << a[i] << " " << b[i] << " " << c[i];
}

} // namespace
} // namespace weft::cpu
