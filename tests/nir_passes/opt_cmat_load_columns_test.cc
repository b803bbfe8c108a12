// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/opt_cmat_load_columns.h"

#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/matrices/shapes/lower_cmat_scope.h"
#include "tests/nir_passes/scope_shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Outcome {
   bool progress;
   std::string text;
};

/// A B that is loaded, then statements, then a product with B, then statements.
Outcome run(const std::string &between, const std::string &behind = "",
            const std::string &buffer = "h")
{
   const Shader shader = test::scope_shader(R"(
      B b; ACC(64, 32) c = ACC(64, 32)(0);
      coopMatLoad(b, )" + buffer + R"(, 512 * gl_WorkGroupID.x, 16,
                  gl_CooperativeMatrixLayoutColumnMajor);)" +
                                            between + "c = coopMatMulAdd(A(1), b, c);" + behind +
                                            R"(
      coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)");
   nir_shader *nir = shader.get();
   EXPECT_TRUE(opt_cmat_copies(nir));
   lower_cmat_scope(nir, {.subgroups = 4, .is_cut = true, .b = FormOfB::workgroup_matrix}, false);
   const bool progress = opt_cmat_load_columns(nir);
   return {progress, test::scope_text(nir)};
}

/// Whether the columns are loaded into the workgroup's matrix. One instruction replaces two.
bool loads_in_place(const std::string &between, const std::string &behind = "",
                    const std::string &buffer = "h")
{
   const auto [progress, text] = run(between, behind, buffer);
   EXPECT_EQ(test::count(text, "@cmat_load_columns_weft"), progress ? 1u : 0u) << text;
   EXPECT_EQ(test::count(text, "@cmat_insert_columns_weft") > 0, !progress) << text;
   EXPECT_EQ(test::count(text, "@cmat_load "), progress ? 0u : 1u) << text;
   return progress;
}

TEST(OptCmatLoadColumns, MovesTheLoadBetweenTheBarriers)
{
   const auto [progress, text] = run("");
   EXPECT_TRUE(progress);
   const size_t first = text.find("@barrier"), load = text.find("@cmat_load_columns_weft"),
                last = text.find("@barrier", first + 1);
   EXPECT_LT(first, load) << text;
   EXPECT_LT(load, last) << text;
   EXPECT_TRUE(test::has(text.substr(load), "(coopmat<float16_t, SCOPE_SUBGROUP, 16, 16, B>, "
                                            "matrix_layout=col_major"))
      << text;
}

TEST(OptCmatLoadColumns, PassesInstructionsThatKeepMemory)
{
   EXPECT_TRUE(loads_in_place("c = c + ACC(64, 32)(f[5]);"));
}

TEST(OptCmatLoadColumns, StaysBeforeInstructionsThatMayChangeMemory)
{
   EXPECT_FALSE(loads_in_place("h[gl_LocalInvocationIndex] = float16_t(0);"));
   EXPECT_FALSE(loads_in_place("atomicAdd(n, 1);"));
   EXPECT_FALSE(loads_in_place("barrier();"));
   EXPECT_FALSE(loads_in_place("if (f[5] > 0) return;"));
}

TEST(OptCmatLoadColumns, StaysForOtherUsesOfTheMatrix)
{
   EXPECT_FALSE(loads_in_place("", "c = coopMatMulAdd(A(2), b, c);"));
   EXPECT_FALSE(
      loads_in_place("", "coopMatStore(b, h, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);"));
}

} // namespace
} // namespace weft
