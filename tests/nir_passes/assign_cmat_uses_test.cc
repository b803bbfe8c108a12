// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/assign_cmat_uses.h"

#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

const std::string declarations = R"(
   #define M fcoopmatNV<16, gl_ScopeSubgroup, 16, 16>
   layout(binding = 0) buffer Halves { float16_t h[]; };
)";

const std::string loads = R"(
      M a, b, c;
      coopMatLoadNV(a, h, 0, 16, false);
      coopMatLoadNV(b, h, 256, 16, true);
      coopMatLoadNV(c, h, 512, 16, false);
)";

std::string assigned(const std::string &main, MatrixForm form = MatrixForm::registers)
{
   const test::Source source = test::compile(declarations + "void main() {" + loads + main + "}");
   Result<Shader> shader =
      read_shader(source.shader_source(), Consumer::cpu, 32, {}, nullptr, form);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   nir_opt_constant_folding(nir);
   nir_opt_dce(nir);
   assign_cmat_uses(nir, form);
   nir_validate_shader(nir, "assign_cmat_uses");
   opt_cmat_copies(nir);
   nir_opt_dce(nir);
   return test::body(nir);
}

TEST(AssignCmatUses, TakesWhatAMultiplicationAsksFor)
{
   const std::string text =
      assigned("coopMatStoreNV(coopMatMulAddNV(a, b, c), h, 768, 16, false);");
   EXPECT_EQ(test::count(text, "@cmat_convert_weft"), 0u) << text;
   EXPECT_EQ(test::count(text, "@cmat_copy"), 0u) << text;
}

/// The pass follows matrices through arrays, loops and arithmetic.
TEST(AssignCmatUses, FollowsValues)
{
   const std::string text = assigned(R"(
      M all[2] = {a, a + a};
      M sums[2] = {c, c + c};
      for (int i = 0; i < 4; i++)
         sums[i & 1] = coopMatMulAddNV(-all[i & 1], b, sums[i & 1]);
      coopMatStoreNV(sums[0], h, 768, 16, false);
      coopMatStoreNV(sums[1] / sums[0], h, 768, 16, false);)");
   EXPECT_EQ(test::count(text, "@cmat_convert_weft"), 0u) << text;
}

TEST(AssignCmatUses, ConvertsWhatIsUsedBothWays)
{
   const std::string text =
      assigned("coopMatStoreNV(coopMatMulAddNV(a, a, c), h, 768, 16, false);");
   EXPECT_EQ(test::count(text, "@cmat_convert_weft"), 1u) << text;
}

/// The shader has a constant number of components from the front end, for a matrix without a use.
TEST(AssignCmatUses, LeavesMatricesWhoseComponentsAreCounted)
{
   const std::string main = R"(
      for (int i = 0; i < a.length(); i++)
         a[i] += a[i];
      coopMatStoreNV(coopMatMulAddNV(a, b, c), h, 768, 16, false);)";
   EXPECT_EQ(test::count(assigned(main), "@cmat_convert_weft"), 1u);
   EXPECT_EQ(test::count(assigned(main, MatrixForm::driver_tiles), "@cmat_convert_weft"), 1u);
   EXPECT_EQ(test::count(assigned(main, MatrixForm::private_tiles), "@cmat_convert_weft"), 0u);
}

/// Afterwards the matrices can be a driver's tiles.
TEST(AssignCmatUses, LetsDriversHaveTheMatrices)
{
   const test::Source source =
      test::compile(declarations + "void main() {" + loads +
                    "coopMatStoreNV(coopMatMulAddNV(a, b, c), h, 768, 16, false); }");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::driver, 32);
   ASSERT_TRUE(shader);
   Target target = {.subgroup_size = 32, .form = MatrixForm::driver_tiles};
   using enum ComponentType;
   target.native = {{16, 16, 16, f16, f16, f16, f16, false}};
   PassRunner run(shader->get(), {}, nullptr);
   lower_matrices(run, target);
   EXPECT_FALSE(run.refused());
   EXPECT_EQ(test::count(test::body(shader->get()), "@tile_muladd_weft"), 1u);
}

} // namespace
} // namespace weft
