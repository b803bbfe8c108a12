// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which way conversions go: in LLVM IR of whole shaders, as it is optimized.  What they give is
/// alu_test.cc's.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

/// Of a shader that stores this, with a word `x` and its bytes.
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

/// Quantized weights are taken out of words like this.
TEST(Conversions, PartsOfWordsBecomeFloatsWithoutBeingNarrowed)
{
   for (const char *value :
        {"float(uint8_t(x >> 8))", "float(uint16_t(x >> 4))", "float(uint8_t(x >> 16)) - 32.0",
         "float(int8_t(x >> 24))", "float(int8_t(x >> 8)) * 3.0"}) {
      const std::string code = code_of(value);
      EXPECT_NE(code.find("tofp "), std::string::npos) << value << code;
      EXPECT_EQ(code.find("trunc "), std::string::npos) << value << code;
   }
}

} // namespace
} // namespace weft::cpu
