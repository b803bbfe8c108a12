// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Buffers in the compiler's output: qualifiers, aliases, bounds, push constants.

#include "tests/backend/spirv/compiled.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::compiled;
using test::compiled_assembly;
using test::count;
using test::has;

void expect_all(const std::string &text, std::initializer_list<const char *> parts)
{
   for (const char *part : parts)
      EXPECT_TRUE(has(text, part)) << part << " is not in\n" << text;
}

/// Two blocks at one binding, with `first` and `second` as qualifiers; the second is written.
std::string at_one_binding(const std::string &first, const std::string &second)
{
   return compiled("layout(binding = 0) " + first + " buffer In { uint i[]; };\n" +
                   "layout(binding = 0) " + second + " buffer Out { uint o[]; };\n" +
                   "layout(binding = 1) buffer Other { uint x[]; };\n" +
                   "void main() { o[gl_LocalInvocationIndex] = x[i[0]]; }");
}

TEST(Buffers, APromiseHoldsForAllVariablesAtABinding)
{
   EXPECT_FALSE(has(at_one_binding("readonly", ""), "NonWritable"));
   EXPECT_FALSE(has(at_one_binding("", "writeonly"), "NonReadable"));
   EXPECT_FALSE(has(at_one_binding("restrict", ""), "Restrict"));
   EXPECT_TRUE(has(at_one_binding("restrict", "restrict"), "Restrict"));
   EXPECT_TRUE(has(compiled("layout(binding = 0) readonly buffer A { uint a[]; };\n"
                            "layout(binding = 0) readonly buffer B { uint b[]; };\n"
                            "layout(binding = 1) buffer Other { uint x[]; };\n"
                            "void main() { x[0] = a[1] + b[2]; }"),
                   "NonWritable"));
}

/// A module with two variables of one type at one binding, with these decorations.
std::string aliases(const std::string &decorations)
{
   return compiled_assembly(R"(
      OpCapability Shader
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main"
      OpExecutionMode %main LocalSize 1 1 1
      OpDecorate %array ArrayStride 4
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpDecorate %x DescriptorSet 0
      OpDecorate %x Binding 0
      OpDecorate %y DescriptorSet 0
      OpDecorate %y Binding 0
   )" + decorations + R"(
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      %array = OpTypeRuntimeArray %uint
      %block = OpTypeStruct %array
      %pointer = OpTypePointer StorageBuffer %block
      %element = OpTypePointer StorageBuffer %uint
      %zero = OpConstant %uint 0
      %one = OpConstant %uint 1
      %x = OpVariable %pointer StorageBuffer
      %y = OpVariable %pointer StorageBuffer
      %main = OpFunction %void None %function
      %entry = OpLabel
      %from = OpAccessChain %element %x %zero %zero
      %to = OpAccessChain %element %y %zero %one
      %value = OpLoad %uint %from
      OpStore %to %value
      OpReturn
      OpFunctionEnd)");
}

TEST(Buffers, OneAliasedVariableMakesTheBindingAliased)
{
   EXPECT_TRUE(has(aliases(""), "OpEntryPoint")) << aliases("");
   EXPECT_FALSE(has(aliases(""), "Aliased"));
   EXPECT_TRUE(has(aliases("OpDecorate %x Aliased\nOpDecorate %y Aliased"), "Aliased"));
   EXPECT_TRUE(has(aliases("OpDecorate %x Aliased"), "Aliased"));
   EXPECT_TRUE(has(aliases("OpDecorate %y Aliased"), "Aliased"));
}

TEST(Buffers, ALengthFromAVaryingDescriptorHasItsCapabilities)
{
   const std::string text =
      compiled("layout(binding = 0) buffer A { uint a[]; } many[];\n"
               "layout(binding = 1) buffer B { uint b[]; };\n"
               "void main() { b[0] = many[nonuniformEXT(gl_LocalInvocationIndex)].a.length(); }");
   expect_all(text, {"OpArrayLength", " NonUniform\n", "OpCapability ShaderNonUniform",
                     "OpCapability StorageBufferArrayNonUniformIndexing"});
}

/// A buffer that ends within 16 bytes is not read beyond its end.
TEST(Buffers, ScalarsOfUniformBuffersAreReadAlone)
{
   const std::string one = compiled("layout(binding = 0) uniform U { uint u; };\n"
                                    "layout(binding = 1) buffer B { uint b[]; };\n"
                                    "void main() { b[0] = u; }");
   EXPECT_FALSE(has(one, "OpLoad %v4uint")) << one;

   const std::string varying = compiled("layout(binding = 0) uniform U { vec4 u[4]; };\n"
                                        "layout(binding = 1) buffer B { float b[]; };\n"
                                        "void main() { uint i = gl_LocalInvocationIndex;\n"
                                        "   b[i] = u[i >> 2][i & 3]; }");
   EXPECT_FALSE(has(varying, "OpLoad %v4uint")) << varying;
   EXPECT_FALSE(has(varying, "OpVectorExtractDynamic")) << varying;

   const std::string whole = compiled("layout(binding = 0) uniform U { vec4 u[4]; };\n"
                                      "layout(binding = 1) buffer B { vec4 b[]; };\n"
                                      "void main() { b[0] = u[gl_LocalInvocationIndex & 3]; }");
   EXPECT_EQ(count(whole, "OpLoad %v4uint"), 1u) << whole;
}

/// With robustBufferAccess2 each scalar that the shader reads or writes has bounds of its own.
TEST(Buffers, ExactBoundsAreThoseOfTheShadersAccesses)
{
   const std::string glsl = "layout(binding = 0) buffer A { uint a[]; };\n"
                            "layout(binding = 1) buffer B { uvec4 b[]; };\n"
                            "void main() {\n"
                            "   uint i = gl_LocalInvocationIndex * 4;\n"
                            "   uint x = a[i], y = a[i + 1], z = a[i + 2], w = a[i + 3];\n"
                            "   a[i + 256] = y; a[i + 257] = z; a[i + 258] = w; a[i + 259] = x;\n"
                            "   b[i] = b[i + 1];\n"
                            "}";
   spirv::Driver driver = spirv::full_driver();
   const std::string joined = compiled(glsl, driver);
   EXPECT_EQ(count(joined, "OpLoad %v4uint"), 2u) << joined;
   driver.robust_buffer_access_2 = true;
   const std::string apart = compiled(glsl, driver);
   EXPECT_EQ(count(apart, "OpLoad %v4uint"), 1u) << apart;
   EXPECT_EQ(count(apart, "OpLoad %uint"), 5u) << apart; /* and the invocation's index */
   EXPECT_EQ(count(apart, "OpStore"), 5u) << apart;
}

TEST(Buffers, PushConstantsBeginWhereTheirBlockDoes)
{
   const std::string text =
      compiled("layout(push_constant) uniform P { layout(offset = 64) uint a; uint b[3]; };\n"
               "layout(binding = 0) buffer B { uint x[]; };\n"
               "void main() { x[0] = a + b[2] + b[x[1] & 1]; }");
   /* The last two are the constant indices. */
   expect_all(text, {"0 Offset 64", "= OpTypeArray %uint %uint_4", "%uint_0 %uint_0\n",
                     "%uint_0 %uint_3\n"});

   const std::string from_zero = compiled("layout(push_constant) uniform P { uint a; uint b; };\n"
                                          "layout(binding = 0) buffer B { uint x[]; };\n"
                                          "void main() { x[0] = b; }");
   expect_all(from_zero, {"0 Offset 0", "= OpTypeArray %uint %uint_2"});
}

} // namespace
} // namespace weft
