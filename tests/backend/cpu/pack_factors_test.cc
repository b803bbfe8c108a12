// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The places where factors are packed, and the products of one call. The end-to-end tests check
/// results.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

struct Tiles {
   uint32_t loads = 0, packs = 0, packs_of_tiles = 0;
   /// The number of loops that contain the products, but not the packing of tiles.
   int loops_left = 0;
   bool operator==(const Tiles &) const = default;
};

void PrintTo(const Tiles &t, std::ostream *out)
{
   *out << t.loads << " loads, " << t.packs << " packs, " << t.packs_of_tiles << " of tiles, "
        << t.loops_left << " loops left";
}

/// A phase of a shader with 16×16 matrices A, B and C of these types.
std::string dump_of(const char *phase, const std::string &type, const std::string &sum,
                    const std::string &body)
{
   const std::string glsl = "#define A coopmat<" + type +
                            ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>\n"
                            "#define B coopmat<" +
                            type +
                            ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>\n"
                            "#define C coopmat<" +
                            sum +
                            ", gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>\n"
                            "layout(local_size_x = 16) in;\n"
                            "layout(binding = 0) buffer Memory { " +
                            type +
                            " memory[]; };\n"
                            "layout(binding = 1) buffer Results { " +
                            sum +
                            " results[]; };\n"
                            "layout(binding = 2) buffer Numbers { uint n; };\n"
                            "const int rows = gl_CooperativeMatrixLayoutRowMajor;\n"
                            "void main() {\n"
                            "   C c = C(0);\n" +
                            body +
                            "   coopMatStore(c, results, 0, 16, rows);\n"
                            "}\n";
   CompileOptions options;
   options.subgroup_size = 16;
   return dump_of_shader(glsl, 3, phase, options);
}

/// The loads and packs of a shader.
Tiles tiles_of(const std::string &type, const std::string &sum, const std::string &body)
{
   Tiles tiles;
   std::istringstream lines(dump_of("nir", type, sum, body));
   int depth_of_packs = 0, depth_of_products = 0;
   for (std::string line; std::getline(lines, line);) {
      const auto has = [&](const char *word) { return line.find(word) != std::string::npos; };
      const int depth = int(line.find('@'));
      tiles.loads += has("@tile_load_weft");
      tiles.packs += has("@tile_pack_weft");
      if (has("@tile_pack_weft") && has("mem_modes=function_temp")) {
         tiles.packs_of_tiles++;
         depth_of_packs = depth;
      }
      if (has("@tile_muladd_weft"))
         depth_of_products = depth;
   }
   if (tiles.packs_of_tiles)
      tiles.loops_left = (depth_of_products - depth_of_packs) / 4;
   return tiles;
}

const std::string products = R"(
   for (uint k = 0; k < n; k++) {
      A a[2];
      for (uint i = 0; i < 2; i++)
         coopMatLoad(a[i], memory, k * 512 + i * 256, 16, rows);
      B b;
      coopMatLoad(b, memory, k * 512, 16, rows);
      for (uint i = 0; i < 2; i++)
         c = coopMatMulAdd(a[i], b, c);
   }
)";

TEST(PackFactors, WhereTheyAreLoaded)
{
   EXPECT_EQ(tiles_of("int8_t", "int", products), (Tiles{0, 2, 0}));
}

TEST(PackFactors, TilesAreWhatKernelsOfFloatsTake)
{
   EXPECT_EQ(tiles_of("float", "float", products), (Tiles{2, 0, 0}));
}

/// The components of B are doubled, so B must be a tile.
TEST(PackFactors, ThatArePlainTilesBeforeEachProduct)
{
   const std::string body = R"(
      A a;
      B b;
      coopMatLoad(a, memory, 0, 16, rows);
      coopMatLoad(b, memory, 256, 16, rows);
      for (uint i = 0; i < b.length(); i++)
         b[i] += b[i];
      c = coopMatMulAdd(a, b, c);
   )";
   EXPECT_EQ(tiles_of("int8_t", "int", body), (Tiles{1, 2, 1}));
}

/// All tiles of A are packed before the loop that multiplies each with B.
TEST(PackFactors, ThatDoNotChangeInALoop)
{
   const std::string body = R"(
      for (uint k = 0; k < n; k++) {
         A a[2][3];
         for (uint i = 0; i < 6; i++) {
            coopMatLoad(a[i / 3][i % 3], memory, i * 256, 16, rows);
            a[i / 3][i % 3][0] += a[i / 3][i % 3][1];
         }
         for (uint i = 0; i < n; i++) {
            B b;
            coopMatLoad(b, memory, 256, 16, rows);
            for (uint j = 0; j < n; j++)
               for (uint l = 0; l < n; l++)
                  c = coopMatMulAdd(a[j][l], b, c);
         }
      }
   )";
   EXPECT_EQ(tiles_of("int8_t", "int", body), (Tiles{1, 2, 1, 1}));
}

/// A is 16×48. Each of its three tiles is multiplied with two tiles of B, each of these once.
TEST(PackFactors, ThatSeveralProductsOfABlockTake)
{
   const std::string body = R"(
      coopmat<int8_t, gl_ScopeSubgroup, 16, 48, gl_MatrixUseA> a;
      coopmat<int8_t, gl_ScopeSubgroup, 48, 32, gl_MatrixUseB> b;
      coopmat<int, gl_ScopeSubgroup, 16, 32, gl_MatrixUseAccumulator> d;
      coopMatLoad(a, memory, 0, 48, rows);
      coopMatLoad(b, memory, 0, 32, rows);
      d = coopmat<int, gl_ScopeSubgroup, 16, 32, gl_MatrixUseAccumulator>(0);
      for (uint i = 0; i < a.length(); i++)
         a[i] += a[i];
      for (uint i = 0; i < b.length(); i++)
         b[i] += b[i];
      d = coopMatMulAdd(a, b, d);
      coopMatStore(d, results, 0, 32, rows);
   )";
   EXPECT_EQ(tiles_of("int8_t", "int", body).packs_of_tiles, 3u + 6u);
}

/// A is multiplied and stored.
TEST(PackFactors, ThatAreStored)
{
   const std::string body = R"(
      A a;
      B b;
      coopMatLoad(a, memory, 0, 16, rows);
      coopMatLoad(b, memory, 256, 16, rows);
      c = coopMatMulAdd(a, b, c);
      coopMatStore(a, memory, 512, 16, rows);
   )";
   EXPECT_EQ(tiles_of("int8_t", "int", body), (Tiles{1, 2, 1}));
}

uint32_t calls_of_products(const std::string &type, const std::string &body)
{
   const std::string llvm = dump_of("llvm", type, type, body);
   uint32_t calls = 0;
   for (size_t at = 0; (at = llvm.find("call void @weft_tile_muladd", at)) != std::string::npos;
        at++)
      calls++;
   return calls;
}

/// Four products each for two sums.
TEST(ProductsOfABlock, AreOneCall)
{
   const std::string long_sums = R"(
      coopmat<float, gl_ScopeSubgroup, 16, 64, gl_MatrixUseA> a;
      coopmat<float, gl_ScopeSubgroup, 64, 32, gl_MatrixUseB> b;
      coopmat<float, gl_ScopeSubgroup, 16, 32, gl_MatrixUseAccumulator> d;
      coopMatLoad(a, memory, 0, 64, rows);
      coopMatLoad(b, memory, 0, 32, rows);
      d = coopmat<float, gl_ScopeSubgroup, 16, 32, gl_MatrixUseAccumulator>(0);
      d = coopMatMulAdd(a, b, d);
      coopMatStore(d, results, 0, 32, rows);
   )";
   EXPECT_EQ(calls_of_products("float", long_sums), 1u);
}

const std::string long_sums_of_halves = R"(
      coopmat<float16_t, gl_ScopeSubgroup, 16, 64, gl_MatrixUseA> a;
      coopmat<float16_t, gl_ScopeSubgroup, 64, 32, gl_MatrixUseB> b;
      coopmat<float16_t, gl_ScopeSubgroup, 16, 32, gl_MatrixUseAccumulator> d;
      coopMatLoad(a, memory, 0, 64, rows);
      coopMatLoad(b, memory, 0, 32, rows);
      coopMatLoad(d, results, 0, 32, rows);
      d = coopMatMulAdd(a, b, d);
      coopMatStore(d, results, 0, 32, rows);
   )";

/// The sums are wider than C and D, but never in memory.
TEST(ProductsOfABlock, AreOneCallWhereTheirSumIsRounded)
{
   const std::string llvm = dump_of("llvm", "float16_t", "float16_t", long_sums_of_halves);
   EXPECT_EQ(calls_of_products("float16_t", long_sums_of_halves), 1u) << llvm;
   EXPECT_NE(llvm.find("@weft_tile_muladd_16x16x16_f16_f16_f16_f16("), std::string::npos);
   EXPECT_NE(llvm.find("{ i32 1, i32 2, i32 4,"), std::string::npos);
}

/// Each multiplication of the program rounds its own result.
TEST(ProductsOfABlock, EndWhereTheProgramRounds)
{
   const std::string body = R"(
      A a[2];
      B b[2];
      for (uint i = 0; i < 2; i++) {
         coopMatLoad(a[i], memory, i * 512, 16, rows);
         coopMatLoad(b[i], memory, i * 512 + 256, 16, rows);
      }
      for (uint i = 0; i < 2; i++)
         c = coopMatMulAdd(a[i], b[i], c);
   )";
   EXPECT_EQ(calls_of_products("float", body), 1u);
   EXPECT_EQ(calls_of_products("float16_t", body), 2u);
}

/// Loops of few iterations are unrolled; the outermost stays.
TEST(ProductsOfABlock, ComeFromLoops)
{
   const std::string body = R"(
      C sums[2][3];
      for (uint i = 0; i < 6; i++)
         sums[i / 3][i % 3] = C(0);
      for (uint k = 0; k < n; k += 4) {
         for (uint l = 0; l < 4; l++) {
            A a[2];
            for (uint i = 0; i < 2; i++)
               coopMatLoad(a[i], memory, (k + l) * 512 + i * 256, 16, rows);
            for (uint j = 0; j < 3; j++) {
               B b;
               coopMatLoad(b, memory, (k + l) * 512 + j * 256, 16, rows);
               for (uint i = 0; i < 2; i++)
                  sums[i][j] = coopMatMulAdd(a[i], b, sums[i][j]);
            }
         }
      }
      for (uint i = 0; i < 6; i++)
         coopMatStore(sums[i / 3][i % 3], results, i * 256, 16, rows);
   )";
   EXPECT_EQ(calls_of_products("float", body), 1u);
   const std::string llvm = dump_of("llvm", "float", "float", body);
   EXPECT_NE(llvm.find("{ i32 2, i32 3, i32 4,"), std::string::npos);
}

/// Behind a store, guarded loads have two copies of their block.
TEST(ProductsOfABlock, AreInEachCopyOfIt)
{
   const std::string loads_beside = R"(
      if (n > 7)
         results[2048] = 1;
      A a;
      B b;
      coopMatLoad(a, memory, 0, 16, rows);
      coopMatLoad(b, memory, 256, 16, rows);
      const uint i = gl_SubgroupInvocationID;
      const float sum = memory[i * 5] + memory[i * 5 + 2];
      c = coopMatMulAdd(a, b, c);
      results[1024 + i] = sum;
   )";
   const std::string llvm = dump_of("llvm", "float", "float", loads_beside);
   EXPECT_NE(llvm.find("regular:"), std::string::npos) << llvm;
   EXPECT_EQ(calls_of_products("float", loads_beside), 2u) << llvm;
}

/// A store reads the sum between two products.
TEST(ProductsOfABlock, EndAtUsesOfSums)
{
   const std::string stored_between = R"(
      A a;
      B b;
      coopMatLoad(a, memory, 0, 16, rows);
      coopMatLoad(b, memory, 256, 16, rows);
      c = coopMatMulAdd(a, b, c);
      coopMatStore(c, results, 256, 16, rows);
      c = coopMatMulAdd(a, b, c);
   )";
   EXPECT_EQ(calls_of_products("float", stored_between), 2u);
}

} // namespace
} // namespace weft::cpu
