// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The instructions of conversions, in the optimized LLVM IR of whole shaders. alu_test.cc checks
/// their results.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace weft::cpu {
namespace {

/// The optimized LLVM IR of a shader that stores this value, which depends on a word `x`.
std::string code_of(const std::string &value)
{
   CompileOptions options;
   options.subgroup_size = 16;
   options.robust_buffer_access = false;
   return dump_of_shader(R"(
      layout(local_size_x = 16) in;
      layout(binding = 0) readonly buffer A { uint a[]; };
      layout(binding = 1) buffer O { float o[]; };
      void main() {
         const uint i = gl_LocalInvocationIndex;
         const uint x = a[i];
         o[i] = )" + value + R"(;
      }
   )",
                         2, "llvm-opt", options);
}

/// Shaders extract quantized weights from words in this way.
TEST(Conversions, PartsOfWordsBecomeFloatsWithoutBeingNarrowed)
{
   for (const char *value :
        {"float(uint8_t(x >> 4))", "float(uint16_t(x >> 4))", "float(uint8_t(x >> 16)) - 32.0",
         "float(int8_t(x >> 24))", "float(int8_t(x >> 8)) * 3.0"}) {
      const std::string code = code_of(value);
      EXPECT_NE(code.find("tofp "), std::string::npos) << value << code;
      EXPECT_EQ(code.find("trunc "), std::string::npos) << value << code;
   }
}

/// Divisions would take most of the time of a filter of texels.
TEST(Conversions, NormalizedNumbersNeedNoDivision)
{
   for (const char *value : {"unpackUnorm4x8(x).z", "unpackSnorm2x16(x).y", "float(x) / 1023.0"})
      EXPECT_EQ(code_of(value).find("fdiv"), std::string::npos) << value;
   for (const char *value : {"float(x) / 1000.0", "uintBitsToFloat(x) / 255.0"})
      EXPECT_NE(code_of(value).find("fdiv"), std::string::npos) << value;
}

/// They have the bits of a division all the same.
TEST(Conversions, NormalizedNumbersAreExact)
{
   constexpr uint32_t count = 1 << 16;
   std::vector<float> quotients(5 * count);
   auto program = compile_shader(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) buffer O { float o[]; };
      void main() {
         const uint i = gl_GlobalInvocationID.x;
         o[5 * i] = float(i) / 255.0;
         o[5 * i + 1] = float(i) / 65535.0;
         o[5 * i + 2] = float(i) / 1023.0;
         o[5 * i + 3] = float(int(i) - 0x8000) / 127.0;
         o[5 * i + 4] = float(i * 0x10001) / 31.0;
      })",
                                 16, 1);
   ASSERT_TRUE(program) << program.error().message;
   const BufferDescriptor set[] = {
      {reinterpret_cast<uint64_t>(quotients.data()), quotients.size() * sizeof(float)}};
   DispatchState state = {};
   state.sets[0] = reinterpret_cast<const uint8_t *>(set);
   state.num_workgroups[0] = count / 64;
   state.num_workgroups[1] = state.num_workgroups[2] = 1;
   ASSERT_TRUE(Executor(1).dispatch(**program, state, {count / 64, 1, 1}));
   for (uint32_t i = 0; i < count; i++) {
      ASSERT_EQ(quotients[5 * i], float(i) / 255.0f) << i;
      ASSERT_EQ(quotients[5 * i + 1], float(i) / 65535.0f) << i;
      ASSERT_EQ(quotients[5 * i + 2], float(i) / 1023.0f) << i;
      ASSERT_EQ(quotients[5 * i + 3], float(int32_t(i) - 0x8000) / 127.0f) << i;
      ASSERT_EQ(quotients[5 * i + 4], float(i * 0x10001) / 31.0f) << i;
   }
}

/// LLVM has no vector instructions for saturating conversions.
TEST(Conversions, VectorsBecomeUnsignedAtOnce)
{
   const std::string code = code_of("float(uint(uintBitsToFloat(x)))");
   EXPECT_NE(code.find("fptoui <16 x float>"), std::string::npos) << code;
   EXPECT_EQ(code.find("fptoui.sat"), std::string::npos) << code;
}

/// A byte within the bits of a mantissa is converted in place (emit_byte.cc).
TEST(Conversions, BytesOfWordsAreNotShifted)
{
   for (const char *value :
        {"float(uint8_t(x)) - 32.0", "float(uint8_t(x >> 8))", "float(uint8_t(x >> 8)) + 4096.0",
         "-8.0 + float(uint8_t(x >> 8))", "float(uint8_t((x & 0x3f3f3f3fu) >> 16)) - 32.0"}) {
      const std::string code = code_of(value);
      EXPECT_EQ(code.find("tofp "), std::string::npos) << value << code;
      EXPECT_EQ(code.find("lshr "), std::string::npos) << value << code;
   }
   for (const char *value : {"float(uint8_t(x))", "float(uint8_t(x)) + 0.5",
                             "float(uint8_t(x)) + 4097.0", "float(uint8_t(x >> 16)) + 1.0"})
      EXPECT_NE(code_of(value).find("tofp "), std::string::npos) << value;
}

TEST(Conversions, BytesOfWordsHaveTheirValues)
{
   auto program = compile_shader(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) readonly buffer A { uint a[]; };
      layout(binding = 1) buffer O { float o[]; };
      void main() {
         const uint i = gl_LocalInvocationIndex;
         const uint x = a[i], low = x & 0x7f7f7f7fu;
         o[i] = float(uint8_t(x)) - 32.0;
         o[64 + i] = float(uint8_t(x >> 8));
         o[128 + i] = 4096.0 + float(uint8_t(x >> 8));
         o[192 + i] = float(uint8_t(low >> 16)) - 4096.0;
         o[256 + i] = float(uint8_t(low >> 16));
      }
   )",
                                 32, 2);
   ASSERT_TRUE(program) << program.error().message;
   Executor executor(1);
   for (uint32_t first = 0; first < 256; first += 64) {
      std::vector<uint32_t> a(64);
      std::vector<float> o(5 * 64, NAN);
      for (uint32_t i = 0; i < 64; i++)
         a[i] = (first + i) * 0x01010101u ^ 0xa5c30000u;
      ASSERT_TRUE(run_shader(
         executor, **program,
         {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(o))}, {1, 1, 1}));
      for (uint32_t i = 0; i < 64; i++) {
         const float byte = float(uint8_t(a[i])), second = float(uint8_t(a[i] >> 8)),
                     third = float(a[i] >> 16 & 0x7f);
         const float expected[] = {byte - 32, second, 4096 + second, third - 4096, third};
         for (uint32_t k = 0; k < 5; k++)
            EXPECT_EQ(std::bit_cast<uint32_t>(o[64 * k + i]), std::bit_cast<uint32_t>(expected[k]))
               << k << ": " << std::hex << a[i];
      }
   }
}

} // namespace
} // namespace weft::cpu
