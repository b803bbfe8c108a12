// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the front end and the checks refuse, and how they say it.

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>
#include <sstream>

namespace weft {
namespace {

using test::compile;
using test::Source;

std::string error_of(const Source &source)
{
   const Result<Shader> shader = spirv_to_target(source.shader_source(), test::target(16, true),
                                                 {test::storage_buffers(), {}});
   return shader ? "" : shader.error().message;
}

std::string muladd(const std::string &a, const std::string &b, const std::string &c,
                   const std::string &operands = "")
{
   return "layout(binding = 0) buffer Data { uint data[]; };\n"
          "void main() {\n"
          "   coopmat<" +
          a + "> a = coopmat<" + a +
          ">(1);\n"
          "   coopmat<" +
          b + "> b = coopmat<" + b +
          ">(1);\n"
          "   coopmat<" +
          c + "> c = coopmat<" + c +
          ">(1);\n"
          "   c = coopMatMulAdd(a, b, c" +
          operands +
          ");\n"
          "   coopMatStore(c, data, 0, 16, 0);\n"
          "}\n";
}

const std::string scope = "gl_ScopeSubgroup, ";

TEST(MatrixSupport, CoversMultiplesOfGranularities)
{
   using enum ComponentType;
   const FlexibleOperation flexible = {{16, 8, 4, f16, f16, f32, f32, false}, 64};
   const MatrixSupport support = {{{8, 8, 8, f32, f32, f32, f32, false}}, {flexible}};
   const auto covers = [&](uint32_t m, uint32_t n, uint32_t k) {
      return support.covers({m, n, k, f16, f16, f32, f32, false});
   };
   EXPECT_TRUE(covers(16, 8, 4) && covers(48, 64, 12) && covers(64, 64, 64));
   EXPECT_FALSE(covers(8, 8, 4) || covers(16, 12, 4) || covers(16, 8, 6) || covers(80, 8, 4));
   EXPECT_TRUE(support.covers({8, 8, 8, f32, f32, f32, f32, false}));
   EXPECT_FALSE(support.covers({16, 8, 8, f32, f32, f32, f32, false}));
   MatrixOperation of_workgroup = {16, 8, 4, f16, f16, f32, f32, false};
   of_workgroup.scope = MatrixScope::workgroup;
   EXPECT_FALSE(support.covers(of_workgroup));
}

std::string flexible_error(const std::string &a_size, const std::string &b_size,
                           const std::string &c_size)
{
   const Source source = compile(muladd("float16_t, " + scope + a_size + ", gl_MatrixUseA",
                                        "float16_t, " + scope + b_size + ", gl_MatrixUseB",
                                        "float, " + scope + c_size + ", gl_MatrixUseAccumulator"));
   Target target = test::target(16, true);
   target.matrices.flexible = {{target.matrices.operations[0], 64}};
   const Result<Shader> shader =
      spirv_to_target(source.shader_source(), target, {test::storage_buffers(), {}});
   return shader ? "" : shader.error().message;
}

TEST(ValidateCmat, FlexibleSizes)
{
   EXPECT_EQ(flexible_error("48, 32", "32, 16", "48, 16"), "");
   EXPECT_EQ(flexible_error("48, 24", "24, 16", "48, 16"),
             "the cooperative matrix 48x24 f16 (A) is not supported; for A there are: 16x16 f16, "
             "8x8 f16, 16x32 s8, multiples of 16x16 f16");
}

TEST(ValidateCmat, AcceptsWhatIsListed)
{
   EXPECT_EQ(error_of(compile(muladd("float16_t, " + scope + "16, 16, gl_MatrixUseA",
                                     "float16_t, " + scope + "16, 16, gl_MatrixUseB",
                                     "float, " + scope + "16, 16, gl_MatrixUseAccumulator"))),
             "");
   EXPECT_EQ(error_of(compile(muladd("int8_t, " + scope + "16, 32, gl_MatrixUseA",
                                     "int8_t, " + scope + "32, 16, gl_MatrixUseB",
                                     "int, " + scope + "16, 16, gl_MatrixUseAccumulator",
                                     ", gl_MatrixOperandsSaturatingAccumulation"))),
             "");
}

TEST(ValidateCmat, NamesAnUnknownShapeAndTheKnownOnes)
{
   EXPECT_EQ(error_of(compile(muladd("float16_t, " + scope + "16, 8, gl_MatrixUseA",
                                     "float16_t, " + scope + "8, 16, gl_MatrixUseB",
                                     "float, " + scope + "16, 16, gl_MatrixUseAccumulator"))),
             "the cooperative matrix 16x8 f16 (A) is not supported; for A there are: 16x16 f16, "
             "8x8 f16, 16x32 s8");
}

TEST(ValidateCmat, NamesAnUnknownOperationAndThoseOfItsSize)
{
   EXPECT_EQ(error_of(compile(muladd("uint8_t, " + scope + "16, 32, gl_MatrixUseA",
                                     "int8_t, " + scope + "32, 16, gl_MatrixUseB",
                                     "int, " + scope + "16, 16, gl_MatrixUseAccumulator"))),
             "no operation 16x16x32: u8 * s8 + s32 -> s32; there are 16x16x32: s8 * s8 + s32 -> "
             "s32; 16x16x32: s8 * s8 + s32 -> s32, saturating");
   EXPECT_EQ(error_of(compile(muladd("float16_t, " + scope + "8, 8, gl_MatrixUseA",
                                     "float16_t, " + scope + "8, 8, gl_MatrixUseB",
                                     "float16_t, " + scope + "8, 8, gl_MatrixUseAccumulator",
                                     ", gl_MatrixOperandsSaturatingAccumulation"))),
             "no operation 8x8x8: f16 * f16 + f16 -> f16, saturating; there are 8x8x8: f16 * f16 "
             "+ f16 -> f16");
}

TEST(ValidateCmat, RefusesOtherScopes)
{
   const std::string message =
      error_of(compile("void main() { coopmat<float, gl_ScopeWorkgroup, 16, 16, "
                       "gl_MatrixUseAccumulator> m; if (m.length() == 3) return; }"));
   EXPECT_EQ(message, "a cooperative matrix 16x16 f32 (accumulator) has a scope other than the "
                      "subgroup, which is not supported");
}

TEST(ValidateCmat, TakesDimensionsFromSpecializationConstants)
{
   Source source = compile("layout(constant_id = 7) const uint K = 16;\n" +
                           muladd("float16_t, " + scope + "16, K, gl_MatrixUseA",
                                  "float16_t, " + scope + "K, 16, gl_MatrixUseB",
                                  "float, " + scope + "16, 16, gl_MatrixUseAccumulator"));
   EXPECT_EQ(error_of(source), "");
   source.constant_ids = {7};
   source.constant_values = {24};
   EXPECT_EQ(error_of(source).substr(0, 56),
             "the cooperative matrix 16x24 f16 (A) is not supported; f");
   /* Larger than the eight bits that Mesa's own descriptions have. */
   source.constant_values = {1024};
   EXPECT_EQ(error_of(source).substr(0, 58),
             "the cooperative matrix 16x1024 f16 (A) is not supported; f");
   /* Would be 16 in the eleven bits that NIR has. */
   for (const uint32_t absurd : {0u, 1025u, 2064u, 0x80000010u}) {
      source.constant_values = {absurd};
      EXPECT_NE(error_of(source).find("there may be 1 to 1024 rows and columns"), std::string::npos)
         << error_of(source);
   }
}

TEST(Errors, EntryPoints)
{
   Source source = compile("void main() {}");
   EXPECT_EQ(error_of(source), "");
   ShaderSource renamed = source.shader_source();
   renamed.entry_point = "other";
   const Result<Shader> shader = spirv_to_target(renamed, test::target(16, true), {});
   ASSERT_FALSE(shader);
   EXPECT_NE(shader.error().message.find("Entry point not found for compute shader \"other\""),
             std::string::npos)
      << shader.error().message;
}

TEST(Errors, MissingBinding)
{
   EXPECT_EQ(error_of(compile("layout(set = 2, binding = 5) buffer B { uint x; };\n"
                              "void main() { x = 1; }")),
             "the shader uses the binding 5 of the descriptor set 2, which the pipeline layout "
             "lacks");
}

TEST(Errors, Images)
{
   EXPECT_EQ(error_of(compile("layout(binding = 0) uniform sampler2D s;\n"
                              "layout(binding = 1) buffer B { vec4 x; };\n"
                              "void main() { x = textureLod(s, vec2(0), 0); }")),
             "images and samplers are not supported: s");
   EXPECT_EQ(error_of(compile("layout(binding = 0, r32f) uniform image2D i;\n"
                              "void main() { imageStore(i, ivec2(0), vec4(0)); }")),
             "images and samplers are not supported: i");
}

TEST(Errors, NotSpirv)
{
   EXPECT_EQ(error_of({}), "the SPIR-V module is empty");
   EXPECT_EQ(error_of({{0x07230203}, {}, {}}).substr(0, 15), "invalid SPIR-V:");
   EXPECT_EQ(error_of({{1, 2, 3, 4, 5, 6}, {}, {}}).substr(0, 15), "invalid SPIR-V:");
}

/// Sizes that only a specialization constant can make.
TEST(Errors, HugeSizes)
{
   const auto with_size = [](const std::string &glsl, uint32_t size) {
      Source source = compile("layout(constant_id = 0) const uint N = 4;\n"
                              "layout(binding = 0) buffer B { uint data[]; };\n" +
                              glsl);
      source.constant_ids = {0};
      source.constant_values = {size};
      return error_of(source);
   };
   const std::string local = "void main() { uint a[N]; a[data[0]] = 1; data[1] = a[data[2]]; }";
   EXPECT_EQ(with_size(local, 1000), "");
   EXPECT_NE(with_size(local, 20'000).find("bytes of private memory"), std::string::npos);
   EXPECT_NE(with_size(local, 100'000).find("too large: at most 65536"), std::string::npos);
   EXPECT_NE(with_size(local, 0xffffffff).find("is too large"), std::string::npos);

   const std::string shared = "shared uint s[N];\n"
                              "void main() { s[data[0]] = 1; barrier(); data[1] = s[data[2]]; }";
   EXPECT_EQ(with_size(shared, 1000), "");
   EXPECT_NE(with_size(shared, 120'000).find("bytes of shared memory"), std::string::npos);
   EXPECT_NE(with_size(shared, 0x80000001).find("is too large"), std::string::npos);

   const std::string value = "struct S { uint a[N]; };\n"
                             "S f(S s) { s.a[data[3]] = 3; return s; }\n"
                             "void main() { S s; s.a[data[0]] = 1; data[1] = f(s).a[data[2]]; }";
   EXPECT_EQ(with_size(value, 100), "");
   EXPECT_NE(with_size(value, 0x10000000), "");

   for (const std::string &glsl : {local, shared, value})
      EXPECT_NE(with_size(glsl, 0).find("has an array of length 0"), std::string::npos);
}

TEST(Errors, Workgroups)
{
   const auto with_size = [](uint32_t size) {
      Source source = {e2e::compile_glsl(std::string(e2e::glsl_header) +
                                         "layout(local_size_x_id = 0) in;\nvoid main() {}"),
                       {size},
                       {0}};
      return error_of(source);
   };
   EXPECT_EQ(with_size(1024), "");
   EXPECT_EQ(with_size(4096),
             "the shader needs 4096 invocations per workgroup; at most 2048 are supported");
   EXPECT_NE(with_size(0), "");
   EXPECT_NE(with_size(65537), "");
}

TEST(Errors, InliningThatExplodes)
{
   std::ostringstream glsl;
   glsl << "layout(binding = 0) buffer B { uint x; };\nvoid f0() { x *= x + 1; }\n";
   for (int i = 1; i < 40; ++i)
      glsl << "void f" << i << "() { f" << i - 1 << "(); f" << i - 1 << "(); }\n";
   glsl << "void main() { f39(); }";
   EXPECT_EQ(error_of(compile(glsl.str())),
             "the shader has more than 1048576 instructions once its functions are inlined");
}

/// The compiler folds these; the CPU traps on them.
TEST(Constants, DivisionsThatOverflow)
{
   EXPECT_EQ(error_of(compile("layout(constant_id = 0) const int X = -2147483648;\n"
                              "layout(constant_id = 1) const int Y = -1;\n"
                              "layout(binding = 0) buffer B { int data[]; };\n"
                              "const int quotient = X / Y;\nconst int rest = X % Y;\n"
                              "void main() { data[0] = quotient; data[1] = rest; data[2] = X / 0; "
                              "int64_t z = int64_t(1) << 63; data[3] = int(z / -1 + z % -1); }")),
             "");
}

} // namespace
} // namespace weft
