// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/validate_cmat.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::compile;
using test::Source;

std::string error_of(const Source &source, const MatrixSupport &support = {test::operations()})
{
   const Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 16);
   if (!shader)
      return shader.error().message;
   const Result<bool> valid = validate_cmat(shader->get(), support);
   return valid ? "" : valid.error().message;
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
   return error_of(source, {test::operations(), {{test::operations()[0], 64}}});
}

TEST(ValidateCmat, FlexibleSizes)
{
   EXPECT_EQ(flexible_error("48, 32", "32, 16", "48, 16"), "");
   EXPECT_EQ(flexible_error("48, 24", "24, 16", "48, 16"),
             "the cooperative matrix 48x24 f16 (A) is not supported; for A there are: 16x16 f16, "
             "8x8 f16, 16x32 s8, multiples of 16x16 f16 up to 64");
   EXPECT_NE(flexible_error("16, 80", "80, 16", "16, 16"), "");
}

TEST(ValidateCmat, FlexibleSizesOfOtherTypes)
{
   const Source source = compile(muladd("float16_t, " + scope + "32, 16, gl_MatrixUseA",
                                        "float16_t, " + scope + "16, 16, gl_MatrixUseB",
                                        "float16_t, " + scope + "32, 16, gl_MatrixUseAccumulator"));
   using enum ComponentType;
   const MatrixOperation sums = {16, 16, 16, f16, f16, f32, f32, false},
                         halves = {16, 16, 16, s8, s8, f16, f16, false};
   EXPECT_EQ(error_of(source, {{}, {{sums, 64}, {halves, 64}}}),
             "no operation 32x16x16: f16 * f16 + f16 -> f16; no operation has that size; multiples "
             "of 16x16x16: f16 * f16 + f32 -> f32");
}

TEST(MatrixSupport, FlexibleOperationsHaveEachCombinationOfTypesOnce)
{
   using enum ComponentType;
   const MatrixOperation sums = {16, 16, 32, s8, s8, s32, s32, false},
                         others = {16, 8, 32, s8, s8, s32, s32, false};
   MatrixOperation saturating = sums;
   saturating.saturating = true;
   const MatrixOperation operations[] = {sums, saturating, others};
   const auto flexible = flexible_operations(operations, 64);
   ASSERT_EQ(flexible.size(), 2u);
   EXPECT_EQ(flexible[0].granularity, (MatrixOperation{8, 8, 8, s8, s8, s32, s32, false}));
   EXPECT_EQ(flexible[1].granularity, (MatrixOperation{8, 8, 8, s8, s8, s32, s32, true}));
   EXPECT_EQ(flexible[0].max_dimension, 64u);
}

/// A matrix without a use may be any operand of a listed size, but of no flexible size.
TEST(ValidateCmat, MatricesWithoutAUse)
{
   const auto error = [&](const std::string &size) {
      const std::string type = "fcoopmatNV<16, " + scope + size + ">";
      const Source source =
         compile("layout(binding = 0) buffer Data { uint data[]; };\n"
                 "void main() { " +
                 type + " m = " + type + "(1); coopMatStoreNV(m, data, 0, 16, false); }\n");
      return error_of(source, {test::operations(), {{test::operations()[0], 64}}});
   };
   EXPECT_EQ(error("16, 16"), "");
   EXPECT_EQ(error("48, 16").substr(0, 91),
             "the cooperative matrix 48x16 f16 (no use) is not supported; for no use there are: "
             "16x16 f16");
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

TEST(ValidateCmat, MatricesOfTheWorkgroup)
{
   const Source source = compile("void main() { coopmat<float, gl_ScopeWorkgroup, 32, 16, "
                                 "gl_MatrixUseAccumulator> m; if (m.length() == 3) return; }");
   EXPECT_EQ(error_of(source),
             "the cooperative matrix 32x16 f32 (accumulator) is not supported at the scope of a "
             "workgroup of 64 invocations; for accumulator there are: none");
   FlexibleOperation flexible = {test::operations()[0], 64};
   const auto error = [&] { return error_of(source, {test::operations(), {flexible}}); };
   EXPECT_NE(error(), ""); // of the subgroup
   flexible.granularity.scope = MatrixScope::workgroup;
   EXPECT_NE(error(), ""); // of another workgroup
   flexible.workgroup_invocations = 64;
   EXPECT_EQ(error(), "");
}

TEST(ValidateCmat, RefusesOtherScopes)
{
   const std::string message =
      error_of(compile("void main() { coopmat<float, gl_ScopeDevice, 16, 16, "
                       "gl_MatrixUseAccumulator> m; if (m.length() == 3) return; }"));
   EXPECT_EQ(message, "a cooperative matrix 16x16 f32 (accumulator) has a scope other than the "
                      "subgroup and the workgroup");
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
   /* The size exceeds the eight bits of Mesa's own descriptions. */
   source.constant_values = {1024};
   EXPECT_EQ(error_of(source).substr(0, 58),
             "the cooperative matrix 16x1024 f16 (A) is not supported; f");
   /* In NIR's eleven bits, the size would become 16. */
   for (const uint32_t absurd : {0u, 1025u, 2064u, 0x80000010u}) {
      source.constant_values = {absurd};
      EXPECT_NE(error_of(source).find("there may be 1 to 1024 rows and columns"), std::string::npos)
         << error_of(source);
   }
}

} // namespace
} // namespace weft
