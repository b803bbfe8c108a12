// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/plan_cmat_scope.h"

#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/shader_text.h"
#include "tests/nir_passes/scope_shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::scope_reduction, test::scope_products;

constexpr uint32_t enough = 64 * 1024;

ScopeOptions with_memory(uint32_t staging_bytes)
{
   return {.subgroup_size = 16, .staging_bytes = staging_bytes};
}
ScopeOptions cutting_b(uint32_t staging_bytes, bool has_workgroup_matrices)
{
   return {.subgroup_size = 16,
           .staging_bytes = staging_bytes,
           .cuts_b = true,
           .has_workgroup_matrices = has_workgroup_matrices};
}

/// The plan as text, "none" for no plan, or the error. Planning changes nothing.
std::string planned(nir_shader *nir, const ScopeOptions &options)
{
   const Result<CmatUses> uses = gather_cmat_uses(nir);
   EXPECT_TRUE(uses);
   const std::string before = shader_text(nir);
   const Result<std::optional<ScopePlan>> plan = plan_cmat_scope(nir, *uses, options);
   EXPECT_EQ(shader_text(nir), before);
   if (!plan)
      return plan.error().message;
   return *plan ? describe(**plan, uses->matrices) : "none";
}

std::string planned(const std::string &main, const ScopeOptions &options = with_memory(enough))
{
   const Shader shader = test::scope_shader(main);
   return planned(shader.get(), options);
}

const std::string whole = "4 subgroups, each with whole matrices";

TEST(PlanCmatScope, ShadersWithoutSuchMatrices)
{
   EXPECT_EQ(planned("f[0] = 1;"), "none");
   EXPECT_EQ(planned(R"(
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
      coopMatLoad(c, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(c, f, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);)"),
             "none");
}

/// Bands have at least 8 rows, and 16 columns of B.
TEST(PlanCmatScope, Bands)
{
   const ScopePlan plan = {.subgroups = 4, .is_cut = true, .b = FormOfB::staged};
   const auto bands = [&](glsl_cmat_use use, uint16_t rows, uint16_t cols) {
      glsl_cmat_description desc = {};
      desc.element_type = GLSL_TYPE_FLOAT16;
      desc.scope = SCOPE_WORKGROUP;
      desc.rows = rows;
      desc.cols = cols;
      desc.use = use;
      return plan.bands(desc);
   };
   EXPECT_EQ(bands(GLSL_CMAT_USE_A, 64, 16), (Bands{4, 16}));
   EXPECT_EQ(bands(GLSL_CMAT_USE_ACCUMULATOR, 24, 16), (Bands{3, 8}));
   EXPECT_EQ(bands(GLSL_CMAT_USE_ACCUMULATOR, 8, 16), (Bands{1, 8}));
   EXPECT_EQ(bands(GLSL_CMAT_USE_ACCUMULATOR, 40, 16), (Bands{1, 40}));
   EXPECT_EQ(bands(GLSL_CMAT_USE_B, 16, 64), (Bands{4, 16}));
   EXPECT_EQ(bands(GLSL_CMAT_USE_B, 16, 16), (Bands{1, 16}));
}

TEST(PlanCmatScope, Products)
{
   const std::string bands =
      "; 64x16 f16 (A): 4 bands of 16 rows; 64x32 f32 (accumulator): 4 bands of 16 rows; 16x32 f16 "
      "(B): whole";
   EXPECT_EQ(planned(scope_products(), with_memory(0)), "4 subgroups, B whole" + bands);
   EXPECT_EQ(planned(scope_products(), {.subgroup_size = 16, .keeps_whole = true}), whole);
}

/// B is staged, if it fits into the shared memory. Kernels may have wider components, so a
/// workgroup's matrix takes four times its bytes.
TEST(PlanCmatScope, ProductsWithBandsOfB)
{
   constexpr uint32_t bytes_of_b = 16 * 32 * 2;
   const auto form = [&](uint32_t bytes, bool has_workgroup_matrices) {
      const std::string text = planned(scope_products(), cutting_b(bytes, has_workgroup_matrices));
      return text.substr(0, text.find(';'));
   };
   EXPECT_EQ(form(bytes_of_b - 1, false), "4 subgroups, B whole");
   EXPECT_EQ(form(bytes_of_b, false), "4 subgroups, B staged, staging 512 x 16 bits");
   EXPECT_EQ(form(4 * bytes_of_b - 1, true), "4 subgroups, B staged, staging 512 x 16 bits");
   EXPECT_EQ(form(4 * bytes_of_b, true), "4 subgroups, B a workgroup's matrix");
   EXPECT_EQ(form(4 * bytes_of_b, false), "4 subgroups, B staged, staging 512 x 16 bits");
}

/// An exchange needs a row, or one element, of each band.
TEST(PlanCmatScope, Reductions)
{
   const std::string c = "; 64x32 f32 (accumulator): 4 bands of 16 rows";
   EXPECT_EQ(planned(scope_reduction("Row"), with_memory(0)), "4 subgroups, B whole" + c);
   EXPECT_EQ(planned(scope_reduction("Column")), "4 subgroups, B whole, staging 128 x 32 bits" + c);
   EXPECT_EQ(planned(scope_reduction("RowAndColumn")),
             "4 subgroups, B whole, staging 4 x 32 bits" + c);
   EXPECT_EQ(planned(scope_reduction("Column"), with_memory(4 * 32 * 4 - 1)), whole);
}

/// If the source has more bands than the result, the whole source is exchanged.
TEST(PlanCmatScope, ReductionsOfSquares)
{
   const auto form = [](const std::string &rows, const std::string &half) {
      const std::string text = planned("ACC(" + rows + ", 32) c; ACC(" + half + R"(, 16) d;
         coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
         coopMatReduceNV(d, c, gl_CooperativeMatrixReduce2x2NV, sum);
         coopMatStore(d, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
      return text.substr(0, text.find(';'));
   };
   EXPECT_EQ(form("64", "32"), "4 subgroups, B whole");
   EXPECT_EQ(form("32", "16"), "4 subgroups, B whole, staging 1024 x 32 bits");
}

/// Components are converted before the exchange.
TEST(PlanCmatScope, AccumulatorsThatBecomeB)
{
   EXPECT_EQ(planned(R"(
      ACC(16, 32) c;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(B(c), h, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)"),
             "4 subgroups, B whole, staging 512 x 16 bits; "
             "16x32 f32 (accumulator): 2 bands of 8 rows; 16x32 f16 (B): whole");
}

/// The band of a single element is unknown.
TEST(PlanCmatScope, MatricesWithReadsOfSingleElementsAreNotCut)
{
   const Shader shader = test::scope_shader(scope_reduction("Row"));
   nir_function_impl *impl = nir_shader_get_entrypoint(shader.get());
   nir_builder b = nir_builder_at(nir_after_impl(impl));
   nir_foreach_function_temp_variable(var, impl) {
      if (glsl_type_is_cmat(var->type)) {
         nir_cmat_element_weft(&b, 32, &nir_build_deref_var(&b, var)->def, nir_imm_int(&b, 0),
                               nir_imm_int(&b, 0));
         break;
      }
   }
   EXPECT_EQ(planned(shader.get(), with_memory(enough)), whole);
}

/// A tensor load gives all subgroups the same B. Subgroups may set components to different values.
TEST(PlanCmatScope, ComponentsOfAWholeB)
{
   const std::string tensor = "B b = B(0); tensorLayoutNV<1> t = "
                              "setTensorLayoutDimensionNV(createTensorLayoutNV(1), 512);";
   const std::string load = "coopMatLoadTensorNV(b, h, 0, t);";
   const std::string set = "b[0] = float16_t(gl_LocalInvocationIndex);";
   const std::string store = "coopMatStore(coopMatMulAdd(A(1), b, ACC(64, 32)(0)), f, 0, 32, "
                             "gl_CooperativeMatrixLayoutRowMajor);";
   for (const bool without_copies : {false, true}) {
      const auto is_cut = [&](const std::string &statements) {
         const Shader shader = test::scope_shader(tensor + statements + store);
         if (without_copies) {
            EXPECT_TRUE(opt_cmat_copies(shader.get()));
         }
         return planned(shader.get(), with_memory(enough)) != whole;
      };
      EXPECT_TRUE(is_cut(load)) << without_copies;
      EXPECT_FALSE(is_cut(set)) << without_copies;
      EXPECT_FALSE(is_cut(load + set)) << without_copies;
   }
}

/// A band of B is exchanged with its components.
TEST(PlanCmatScope, ComponentsOfBInBands)
{
   const auto is_cut = [](const std::string &b) {
      return planned(b + R"( b;
         b[0] = float16_t(gl_LocalInvocationIndex);
         coopMatStore(b, h, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)",
                     cutting_b(enough, false)) != whole;
   };
   EXPECT_TRUE(is_cut("B"));
   EXPECT_FALSE(is_cut("coopmat<float16_t, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseB>"));
}

TEST(PlanCmatScope, MatricesWithoutAUseAreNotCut)
{
   const auto form = [](const std::string &type) {
      return planned(type + R"( m;
         coopMatLoad(m, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(m, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)");
   };
   EXPECT_NE(form("ACC(64, 32)"), whole);
   const Shader shader = test::scope_shader(R"(
      ACC(64, 32) m;
      coopMatLoad(m, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)");
   Result<CmatUses> uses = gather_cmat_uses(shader.get());
   ASSERT_TRUE(uses);
   uses->matrices.front().use = GLSL_CMAT_USE_NONE;
   const auto plan = plan_cmat_scope(shader.get(), *uses, with_memory(enough));
   ASSERT_TRUE(plan && *plan);
   EXPECT_EQ(**plan, (ScopePlan{.subgroups = 4}));
}

/// Variables with a layout of the shader's own leave no room for others.
TEST(PlanCmatScope, SharedMemoryWithALayout)
{
   const Shader shader = test::scope_shader(scope_reduction("Column"));
   shader.get()->info.shared_memory_explicit_layout = true;
   EXPECT_EQ(planned(shader.get(), with_memory(enough)), whole);
   const Shader rows = test::scope_shader(scope_reduction("Row"));
   rows.get()->info.shared_memory_explicit_layout = true;
   EXPECT_NE(planned(rows.get(), with_memory(enough)), whole);
}

TEST(PlanCmatScope, SubgroupsMustFillTheWorkgroup)
{
   EXPECT_EQ(planned("ACC(64, 32) c; if (c.length() == 1) return;",
                     {.subgroup_size = 24, .staging_bytes = enough}),
             "cooperative matrices of workgroup scope in a workgroup of 64 invocations, which "
             "subgroups of 24 do not fill");
}

} // namespace
} // namespace weft
