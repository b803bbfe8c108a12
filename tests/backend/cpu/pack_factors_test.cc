// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Where factors are packed.  That products are right is for the end-to-end tests to say.

#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

#include <cstring>

namespace weft::cpu {
namespace {

struct Tiles {
   uint32_t loads = 0, packs = 0, packs_of_tiles = 0;
   bool operator==(const Tiles &) const = default;
};

void PrintTo(const Tiles &t, std::ostream *out)
{
   *out << t.loads << " loads, " << t.packs << " packs, " << t.packs_of_tiles << " of tiles";
}

/// What is loaded and packed for a product of $T by $T, of which B is `b` after it was loaded.
Tiles tiles_of(const std::string &type, const std::string &sum, const std::string &body)
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
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + glsl);
   ShaderSource source;
   source.spirv = spirv;
   source.entry_point = "main";
   CompileOptions options;
   options.subgroup_size = 16;
   for (uint32_t i = 0; i < 3; i++)
      options.bindings.push_back({0, i, 0, uint32_t(i * sizeof(BufferDescriptor)), 0, 1, false});
   std::string nir;
   options.dump = [&](const char *phase, const std::string &text) {
      if (!std::strcmp(phase, "nir"))
         nir = text;
   };
   const auto program = compile(source, options);
   EXPECT_TRUE(program) << program.error().message;
   Tiles tiles;
   std::istringstream lines(nir);
   for (std::string line; std::getline(lines, line);) {
      tiles.loads += (line.find("@tile_load_weft") != std::string::npos);
      tiles.packs += (line.find("@tile_pack_weft") != std::string::npos);
      tiles.packs_of_tiles += (line.find("@tile_pack_weft") != std::string::npos) &&
                              (line.find("mem_modes=function_temp") != std::string::npos);
   }
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
   EXPECT_EQ(tiles_of("float16_t", "float", products), (Tiles{0, 2, 0}));
   EXPECT_EQ(tiles_of("int8_t", "int", products), (Tiles{0, 2, 0}));
}

TEST(PackFactors, TilesAreWhatKernelsOfFloatsTake)
{
   EXPECT_EQ(tiles_of("float", "float", products), (Tiles{2, 0, 0}));
}

/// B is doubled by component, which only a tile can be.
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
   EXPECT_EQ(tiles_of("float16_t", "float", body), (Tiles{1, 2, 1}));
}

/// A is multiplied, and stored.
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
   EXPECT_EQ(tiles_of("float16_t", "float", body), (Tiles{1, 2, 1}));
}

} // namespace
} // namespace weft::cpu
