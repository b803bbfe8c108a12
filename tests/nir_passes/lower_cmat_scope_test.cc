// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The pass's output as text, for plans of a workgroup of four subgroups.
/// tests/backend/cpu/cmat_scope_test.cc checks results.

#include "nir_passes/matrices/shapes/lower_cmat_scope.h"

#include "tests/nir_passes/scope_shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::has, test::scope_reduction, test::scope_products;

constexpr ScopePlan bands = {.subgroups = 4, .is_cut = true};

/// A plan with bands, and with shared memory for `words` words.
constexpr ScopePlan staging(uint32_t words)
{
   return {.subgroups = 4, .is_cut = true, .staged_elements = {0, 0, words, 0}};
}

/// A plan with bands of B too, and with shared memory for `halves` halves.
constexpr ScopePlan bands_of_b(FormOfB form, uint32_t halves)
{
   return {.subgroups = 4, .is_cut = true, .b = form, .staged_elements = {0, halves, 0, 0}};
}

std::string lowered(const std::string &main, const ScopePlan &plan)
{
   const Shader shader = test::scope_shader(main);
   lower_cmat_scope(shader.get(), plan, false);
   return test::scope_text(shader.get());
}

/// Each subgroup has 16 of 64 rows. B is whole, and the first subgroup stores it.
TEST(LowerCmatScope, SubgroupsHaveBands)
{
   const std::string text = lowered(R"(
      A a; B b; ACC(64, 32) c;
      coopMatLoad(a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(b, h, 8, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(c, f, 0, 64, gl_CooperativeMatrixLayoutColumnMajor);
      coopMatStore(coopMatMulAdd(a, b, c), f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(b, h, 8, 32, gl_CooperativeMatrixLayoutRowMajor);)",
                                    bands);
   for (const char *type : {"<float16_t, SCOPE_SUBGROUP, 16, 16",
                            "<float16_t, SCOPE_SUBGROUP, 16, 32", "<float, SCOPE_SUBGROUP, 16, 32"})
      EXPECT_TRUE(has(text, type)) << type << "\n" << text;
   EXPECT_FALSE(has(text, "SCOPE_WORKGROUP, ")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 0u) << text;
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 1u) << text;
   EXPECT_EQ(test::count(text, "if "), 1u) << text;
}

/// Three subgroups have 8 of 24 rows each. The fourth has the same rows as the first.
TEST(LowerCmatScope, FewerBandsThanSubgroups)
{
   const std::string text = lowered(R"(
      ACC(24, 32) c;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)",
                                    bands);
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 8, 32")) << text;
   EXPECT_EQ(test::count(text, "umod"), 1u) << text;
   EXPECT_EQ(test::count(text, "if "), 1u) << text;
}

/// An operation on a band has the band's place in the matrix. Matrices of one band have no place of
/// their own, and one subgroup stores them.
TEST(LowerCmatScope, WholeOperationsHaveAnOrigin)
{
   const std::string layout = "tensorLayoutNV<1> t = "
                              "setTensorLayoutDimensionNV(createTensorLayoutNV(1), 512);";
   const auto text_of = [&](const std::string &matrix, const std::string &operation) {
      return lowered(layout + matrix + " m = " + matrix + "(0);" + operation, bands);
   };
   for (const char *operation :
        {"coopMatLoadTensorNV(m, h, 0, t);", "coopMatStoreTensorNV(m, h, 0, t);",
         "coopMatPerElementNV(m, m, shift);"}) {
      const std::string text = text_of("A", operation);
      EXPECT_EQ(test::count(text, "@load_subgroup_id"), 1u) << text;
      EXPECT_EQ(test::count(text, "if "), 0u) << text;
   }
   const std::string whole = text_of("B", "coopMatStoreTensorNV(m, h, 0, t);");
   EXPECT_EQ(test::count(whole, "@load_subgroup_id"), 1u) << whole;
   EXPECT_EQ(test::count(whole, "if "), 1u) << whole;
   EXPECT_EQ(test::count(whole, "@cmat_store_tensor_weft"), 1u) << whole;
}

/// Each subgroup has all elements, and the first one stores them.
TEST(LowerCmatScope, WholeMatrices)
{
   const std::string text = lowered(scope_reduction("Column"), {.subgroups = 4});
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 64, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 0u) << text;
   EXPECT_EQ(test::count(text, "if "), 1u) << text;
}

TEST(LowerCmatScope, ReductionsOfRowsStayInTheBand)
{
   const std::string text = lowered(scope_reduction("Row"), bands);
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 0u) << text;
}

/// Each band is reduced first; then subgroups share a row of each.
TEST(LowerCmatScope, ReductionsOfColumnsShareARowOfEachBand)
{
   const std::string text = lowered(scope_reduction("Column"), staging(4 * 32));
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_reduce_weft"), 1u) << text;
   EXPECT_TRUE(has(text, "uint[128] staging")) << text;
}

TEST(LowerCmatScope, ReductionsOfAllShareAnElementOfEachBand)
{
   const std::string text = lowered(scope_reduction("RowAndColumn"), staging(4));
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_TRUE(has(text, "uint[4] staging")) << text;
}

TEST(LowerCmatScope, EachIterationShares)
{
   const std::string text = lowered("for (uint i = 0; i < 2 + gl_WorkGroupID.x; i++) {" +
                                       scope_reduction("RowAndColumn") + "}",
                                    staging(4));
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_LT(text.find("loop {"), text.find("@barrier")) << text;
}

/// If both matrices have equally many bands, the squares lie in their own band.
TEST(LowerCmatScope, ReductionsOfSquares)
{
   const auto reduced = [](const std::string &rows, const std::string &half,
                           const ScopePlan &plan) {
      return lowered("ACC(" + rows + ", 32) c; ACC(" + half + R"(, 16) d;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatReduceNV(d, c, gl_CooperativeMatrixReduce2x2NV, sum);
      coopMatStore(d, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)",
                     plan);
   };
   const std::string own = reduced("64", "32", bands);
   EXPECT_EQ(test::count(own, "@barrier"), 0u) << own;
   EXPECT_EQ(test::count(own, "@cmat_reduce_weft"), 1u) << own;
   const std::string shared = reduced("32", "16", staging(32 * 32));
   EXPECT_EQ(test::count(shared, "@barrier"), 2u) << shared;
   EXPECT_EQ(test::count(shared, "@cmat_reduce_weft"), 0u) << shared;
}

TEST(LowerCmatScope, AccumulatorsThatBecomeBShareTheMatrix)
{
   const std::string text = lowered(R"(
      ACC(16, 32) c;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(B(c), h, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)",
                                    bands_of_b(FormOfB::whole, 16 * 32));
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_TRUE(has(text, "uint16_t[512] staging")) << text;
}

/// Two bands of 16 columns, each in two subgroups.
TEST(LowerCmatScope, BInBands)
{
   const std::string text = lowered(scope_products(), bands_of_b(FormOfB::staged, 16 * 32));
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 16, B>")) << text;
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 32, B> whole")) << text;
   EXPECT_TRUE(has(text, "uint16_t[512] staging")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 2u) << text;
}

TEST(LowerCmatScope, BInBandsOfAWorkgroupMatrix)
{
   const std::string text = lowered(scope_products(), bands_of_b(FormOfB::workgroup_matrix, 0));
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 16, B>")) << text;
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 32, B> whole")) << text;
   EXPECT_EQ(test::count(text, "@cmat_insert_columns_weft"), 1u) << text;
   EXPECT_FALSE(has(text, "staging")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 1u) << text;
}

/// The workgroup has one matrix of each type, which a later product fills again.
TEST(LowerCmatScope, ProductsShareAWorkgroupMatrix)
{
   const std::string text =
      lowered(scope_products() + "coopMatStore(coopMatMulAdd(a, b, c), f, 1, 32, "
                                 "gl_CooperativeMatrixLayoutRowMajor);",
              bands_of_b(FormOfB::workgroup_matrix, 0));
   EXPECT_EQ(test::count(text, "@cmat_insert_columns_weft"), 2u) << text;
   EXPECT_EQ(test::count(text, " whole\n"), 1u) << text;
}

} // namespace
} // namespace weft
