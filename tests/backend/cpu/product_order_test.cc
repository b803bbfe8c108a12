// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Which loops of products are unrolled, where factors lie and in which order things are done.  That
/// results are right is for the end-to-end tests to say.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

/// The tile operations of a shader in which 16×16 matrices of floats are multiplied, and its barriers, in order; loops
/// are brackets.
std::string tile_operations(const std::string &body)
{
   const std::string glsl =
      "#define A coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>\n"
      "#define B coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>\n"
      "#define C coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>\n"
      "layout(local_size_x = 32) in;\n"
      "layout(binding = 0) buffer Memory { float memory[]; };\n"
      "layout(binding = 1) buffer Results { float results[]; };\n"
      "layout(binding = 2) buffer Numbers { uint n; };\n"
      "const int rows = gl_CooperativeMatrixLayoutRowMajor;\n"
      "void main() {\n"
      "   A a;\n"
      "   B b;\n"
      "   C c = C(0);\n" +
      body +
      "   coopMatStore(c, results, 0, 16, rows);\n"
      "}\n";
   CompileOptions options;
   options.subgroup_size = 16;
   std::istringstream lines(dump_of_shader(glsl, 3, "nir", options));
   std::string operations;
   std::vector<size_t> loops; // indentation
   for (std::string line; std::getline(lines, line);) {
      const auto has = [&](const char *word) { return line.find(word) != std::string::npos; };
      if (has("loop {")) {
         loops.push_back(line.find("con"));
         operations += "( ";
      } else if (!loops.empty() && line.find('}') == loops.back()) {
         loops.pop_back();
         operations += ") ";
         if (operations.ends_with("( ) ")) // others: C(0)
            operations.resize(operations.size() - 4);
      } else if (has("@tile_load_weft")) {
         operations += "load ";
      } else if (has("@tile_muladd_weft")) {
         operations += "muladd ";
      } else if (has("@barrier")) {
         operations += "barrier ";
      } else if (has("@tile_store_weft")) {
         operations += "store ";
      }
   }
   return operations;
}

const std::string multiply = R"(
      coopMatLoad(a, memory, k * 512, 16, rows);
      coopMatLoad(b, memory, k * 512 + 256, 16, rows);
      c = coopMatMulAdd(a, b, c);
)";

TEST(UnrollProducts, LoopsOfFew)
{
   EXPECT_EQ(tile_operations("for (uint k = 0; k < 2; k++) {" + multiply + "}"),
             "load load load load muladd muladd store ");
}

TEST(UnrollProducts, NotLoopsOfMany)
{
   EXPECT_EQ(tile_operations("for (uint k = 0; k < 100; k++) {" + multiply + "}"),
             "( load load muladd ) store ");
   EXPECT_EQ(tile_operations("for (uint k = 0; k < n; k++) {" + multiply + "}"),
             "( load load muladd ) store ");
}

TEST(UnrollProducts, NotAroundBarriers)
{
   EXPECT_EQ(tile_operations("for (uint k = 0; k < 2; k++) {" + multiply + "barrier(); }"),
             "( load load muladd barrier ) store ");
}

/// What reads a sum comes behind its products.
TEST(ProductOrder, KeepsUsesOfSumsBehindThem)
{
   EXPECT_EQ(tile_operations(R"(
      coopMatLoad(a, memory, 0, 16, rows);
      coopMatLoad(b, memory, 256, 16, rows);
      c = coopMatMulAdd(a, b, c);
      coopMatStore(c, results, 256, 16, rows);
      coopMatLoad(a, memory, 512, 16, rows);
      c = coopMatMulAdd(a, b, c);
   )"),
             "load load muladd store load muladd store ");
}

/// Products that take a tile come before what is loaded into the same, where it must stay the same: it is multiplied by on
/// the other side of a barrier.
TEST(ProductOrder, KeepsLoadsBehindUsesOfWhatTheyReplace)
{
   EXPECT_EQ(tile_operations(R"(
      coopMatLoad(a, memory, 0, 16, rows);
      coopMatLoad(b, memory, 256, 16, rows);
      c = coopMatMulAdd(a, b, c);
      coopMatLoad(a, memory, 512, 16, rows);
      barrier();
      c = coopMatMulAdd(a, b, c);
   )"),
             "load load muladd load barrier muladd store ");
}

} // namespace
} // namespace weft::cpu
