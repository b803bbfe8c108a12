// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The products that opt_product_depth joins. The end-to-end tests check results.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::cpu {
namespace {

struct Shader {
   std::string type = "int8_t", sum = "int"; ///< of components
   uint32_t k = 32;
};

/// The packs and products that are left of a shader, in order.
std::string operations(const Shader &shader, const std::string &body)
{
   const std::string k = std::to_string(shader.k);
   const std::string glsl =
      "#define A coopmat<" + shader.type + ", gl_ScopeSubgroup, 16, " + k + ", gl_MatrixUseA>\n" +
      "#define B coopmat<" + shader.type + ", gl_ScopeSubgroup, " + k + ", 16, gl_MatrixUseB>\n" +
      "#define C coopmat<" + shader.sum + ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>\n" +
      "layout(local_size_x = 32) in;\n"
      "layout(binding = 0) buffer Memory { " +
      shader.type +
      " memory[]; };\n"
      "layout(binding = 1) buffer Results { " +
      shader.sum +
      " results[]; };\n"
      "layout(binding = 2) buffer Numbers { uint n; };\n"
      "const int rows = gl_CooperativeMatrixLayoutRowMajor;\n"
      "const int columns = gl_CooperativeMatrixLayoutColumnMajor;\n"
      "const uint k = " +
      k +
      ";\n"
      "void main() {\n"
      "   const uint first = n;\n"
      "   A a;\n"
      "   B b, b2;\n"
      "   C c = C(0), c2 = C(0);\n" +
      body +
      "   coopMatStore(c, results, 0, 16, rows);\n"
      "   coopMatStore(c2, results, 256, 16, rows);\n"
      "}\n";
   CompileOptions options;
   options.subgroup_size = 16;
   std::istringstream lines(dump_of_shader(glsl, 3, "nir", options));
   std::string found;
   for (std::string line; std::getline(lines, line);) {
      if (line.find("@tile_pack_weft") != std::string::npos)
         found += "pack ";
      else if (line.find("@tile_muladd_weft") != std::string::npos)
         found += "muladd ";
   }
   return found;
}

/// A's rows have 256 components; B's columns too, from 10,000 on.
std::string products(int count, const std::string &step_of_a = "k",
                     const std::string &step_of_b = "k")
{
   std::string text;
   for (int i = 0; i < count; i++) {
      const std::string number = std::to_string(i);
      text += "coopMatLoad(a, memory, first + " + number + " * (" + step_of_a + "), 256, rows);\n" +
              "coopMatLoad(b, memory, 10000 + " + number + " * (" + step_of_b +
              "), 256, columns);\n" + "c = coopMatMulAdd(a, b, c);\n";
   }
   return text;
}

const std::string one_by_one = "pack pack pack pack muladd muladd ";

TEST(ProductDepth, JoinsNeighboursAlongK)
{
   EXPECT_EQ(operations({}, products(2)), "pack pack muladd ");
   EXPECT_EQ(operations({}, products(4)), "pack pack pack pack muladd muladd ");
   EXPECT_EQ(operations({"bfloat16_t", "float", 16}, products(2)), "pack pack muladd ");
   // Twice.
   EXPECT_EQ(operations({"int8_t", "int", 16}, products(4)), "pack pack muladd ");
   EXPECT_EQ(operations({"int8_t", "int", 16}, products(2)), "pack pack muladd ");
}

TEST(ProductDepth, KeepsProductsWithoutDeeperKernels)
{
   EXPECT_EQ(operations({"float16_t", "float", 16}, products(2)), one_by_one);
   EXPECT_EQ(operations({"int8_t", "int", 64}, products(2)), one_by_one);
   // Its sums are rounded after each product.
   EXPECT_EQ(operations({"bfloat16_t", "bfloat16_t", 16}, products(2)), one_by_one);
}

TEST(ProductDepth, KeepsProductsOfDistantFactors)
{
   EXPECT_EQ(operations({}, products(2, "k + 1")), one_by_one);
   EXPECT_EQ(operations({}, products(2, "k", "k - 1")), one_by_one);
   EXPECT_EQ(operations({}, products(2, "first")), one_by_one);
   // The second load is of the memory before the first.
   EXPECT_EQ(operations({}, products(2, "256 * 16 - k")), one_by_one);
}

TEST(ProductDepth, KeepsAnOddNumberOfProducts)
{
   EXPECT_EQ(operations({}, products(3)), "pack pack pack pack pack pack muladd muladd muladd ");
}

/// Rows of B follow each other at a distance that the stride decides.
TEST(ProductDepth, NeedsAConstantStrideAcrossLines)
{
   const auto body = [](const std::string &stride) {
      std::string text;
      for (const char *i : {"0", "1"})
         text += std::string("coopMatLoad(a, memory, ") + i + " * k, 256, rows);\n" +
                 "coopMatLoad(b, memory, 10000 + " + i + " * k * " + stride + ", " + stride +
                 ", rows);\n" + "c = coopMatMulAdd(a, b, c);\n";
      return text;
   };
   EXPECT_EQ(operations({}, body("64")), "pack pack muladd ");
   EXPECT_EQ(operations({}, body("first")), one_by_one);
}

/// Two sums share A: it has one partner, or none.
TEST(ProductDepth, JoinsFactorsOfSeveralSums)
{
   const auto body = [](const std::string &second_b) {
      std::string text;
      for (const std::string i : {"0", "1"})
         text += "coopMatLoad(a, memory, " + i + " * k, 256, rows);\n" +
                 "coopMatLoad(b, memory, 10000 + " + i + " * k, 256, columns);\n" +
                 "coopMatLoad(b2, memory, 20000 + " + i + " * " + second_b + ", 256, columns);\n" +
                 "c = coopMatMulAdd(a, b, c);\n"
                 "c2 = coopMatMulAdd(a, b2, c2);\n";
      return text;
   };
   EXPECT_EQ(operations({}, body("k")), "pack pack pack muladd muladd ");
   EXPECT_EQ(operations({}, body("(k + 4)")),
             "pack pack pack pack pack pack muladd muladd muladd muladd ");
}

TEST(ProductDepth, KeepsProductsWithOtherEffectsBetweenThem)
{
   EXPECT_EQ(operations({}, products(1) + "memory[first + 5] = int8_t(1);\n"
                                          "coopMatLoad(a, memory, first + k, 256, rows);\n"
                                          "coopMatLoad(b, memory, 10000 + k, 256, columns);\n"
                                          "c = coopMatMulAdd(a, b, c);\n"),
             "pack pack muladd pack pack muladd ");
}

TEST(ProductDepth, KeepsFactorsWithLaterUses)
{
   EXPECT_EQ(operations({}, products(2) + "results[1000 + first] = 1;\n"
                                          "coopMatLoad(b2, memory, 20000, 256, columns);\n"
                                          "c2 = coopMatMulAdd(a, b2, c2);\n"),
             one_by_one + "pack muladd ");
}

} // namespace
} // namespace weft::cpu
