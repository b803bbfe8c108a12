// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The loops of products that are unrolled, the places of factors, and the order of operations. The
/// end-to-end tests check results.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

/// The tile operations and barriers of a shader that multiplies 16×16 matrices of floats, in order.
/// Loops are brackets.
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

TEST(ChooseUnrolling, LoopsOfFewProductsAreUnrolled)
{
   EXPECT_EQ(tile_operations("for (uint k = 0; k < 2; k++) {" + multiply + "}"),
             "load load load load muladd muladd store ");
}

TEST(ChooseUnrolling, LoopsOfManyProductsStay)
{
   EXPECT_EQ(tile_operations("for (uint k = 0; k < 100; k++) {" + multiply + "}"),
             "( load load muladd ) store ");
   EXPECT_EQ(tile_operations("for (uint k = 0; k < n; k++) {" + multiply + "}"),
             "( load load muladd ) store ");
}

TEST(ChooseUnrolling, LoopsOfProductsAroundBarriersStay)
{
   EXPECT_EQ(tile_operations("for (uint k = 0; k < 2; k++) {" + multiply + "barrier(); }"),
             "( load load muladd barrier ) store ");
}

/// An instruction that reads a sum stays behind its products.
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

/// The NIR of a shader whose four subgroups multiply matrices of the workgroup, one product for
/// each number of columns.
std::string workgroup_products(const std::vector<uint32_t> &columns)
{
   std::string glsl = R"(
      layout(local_size_x = 128) in;
      layout(binding = 0) buffer Halves { float16_t halves[]; };
      layout(binding = 1) buffer Floats { float floats[]; };
      const int rows = gl_CooperativeMatrixLayoutRowMajor;
      void main() {
         coopmat<float16_t, gl_ScopeWorkgroup, 64, 32, gl_MatrixUseA> a;
         coopMatLoad(a, halves, 0, 32, rows);
   )";
   for (const uint32_t n : columns) {
      const std::string N = std::to_string(n);
      glsl += "{ coopmat<float16_t, gl_ScopeWorkgroup, 32, " + N +
              ", gl_MatrixUseB> b;\n"
              "coopmat<float, gl_ScopeWorkgroup, 64, " +
              N +
              ", gl_MatrixUseAccumulator> c;\n"
              "coopMatLoad(b, halves, 4096, " +
              N + ", rows); coopMatLoad(c, floats, 0, " + N +
              ", rows);\n"
              "coopMatStore(coopMatMulAdd(a, b, c), floats, 0, " +
              N + ", rows); }\n";
   }
   CompileOptions options;
   options.subgroup_size = 32;
   return dump_of_shader(glsl + "}", 2, "nir", options);
}

/// A subgroup packs the tiles of its own band, and all subgroups multiply by them in place.
TEST(ProductOrder, FactorsOfTheWorkgroupArePackedOnce)
{
   const std::string nir = workgroup_products({128}); // four bands of 2×2 tiles
   EXPECT_EQ(count(nir, "workgroup_matrix\n"), 1u) << nir;
   EXPECT_EQ(count(nir, "mem_modes=shared"), 2u) << nir; // the barriers'
   uint32_t packs_of_b = 0;
   std::istringstream lines(nir);
   for (std::string line; std::getline(lines, line);)
      packs_of_b +=
         line.find("@tile_pack_weft") != std::string::npos &&
         line.find("(coopmat<float16_t, SCOPE_SUBGROUP, 16, 16, B>") != std::string::npos;
   EXPECT_EQ(packs_of_b, 4u) << nir;
}

TEST(ProductOrder, FactorsOfTheWorkgroupLieInTheSameMemory)
{
   const std::string nir = workgroup_products({64, 128, 32});
   EXPECT_EQ(count(nir, "workgroup_matrix\n"), 1u) << nir;
   EXPECT_EQ(count(nir, "uint[16][32][13] workgroup_matrix\n"), 1u) << nir;
}

/// A load into a tile that is also used behind a barrier gets no memory of its own, so it stays
/// behind the products that read the old tile.
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
