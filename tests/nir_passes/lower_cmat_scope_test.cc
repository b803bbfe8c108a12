// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The pass as text, in a workgroup of four subgroups. tests/backend/cpu/cmat_scope_test.cc checks
/// its results.

#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/matrices/shapes/lower_cmat_scope.h"
#include "nir_passes/shader_text.h"
#include "tests/nir_passes/shaders.h"

#include "compiler/nir/nir_builder.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft {
namespace {

using test::has;

void remove_copies(nir_shader *nir)
{
   EXPECT_TRUE(opt_cmat_copies(nir));
}

const std::string types = R"(
   #define ACC(rows, cols) coopmat<float, gl_ScopeWorkgroup, rows, cols, gl_MatrixUseAccumulator>
   #define A coopmat<float16_t, gl_ScopeWorkgroup, 64, 16, gl_MatrixUseA>
   #define B coopmat<float16_t, gl_ScopeWorkgroup, 16, 32, gl_MatrixUseB>
   layout(binding = 0) buffer Halves { float16_t h[]; };
   layout(binding = 1) buffer Floats { float f[]; };
   layout(binding = 2) buffer Counter { uint n; };
   float sum(const in float x, const in float y) { return x + y; }
)";

constexpr uint32_t enough = 64 * 1024;

/// `change` sees the shader before the pass.
Result<std::string> lower(
   const std::string &main, const ScopeOptions &options,
   const std::function<void(nir_shader *)> &change = [](nir_shader *) {})
{
   const test::Source source = test::compile(types + "void main() {" + main + "}");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 16);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   nir_copy_prop(nir);
   nir_opt_dce(nir);
   change(nir);
   const Result<bool> progress = lower_cmat_scope(nir, options);
   if (!progress)
      return progress.error();
   EXPECT_TRUE(*progress);
   nir_validate_shader(nir, "lower_cmat_scope");
   nir_opt_constant_folding(nir);
   nir_copy_prop(nir);
   nir_opt_cse(nir);
   nir_opt_dce(nir);
   return shader_text(nir);
}

std::string lowered(const std::string &main, uint32_t staging_bytes = enough, bool cuts_b = false,
                    bool has_workgroup_matrices = false)
{
   const Result<std::string> text =
      lower(main, {16, false, staging_bytes, cuts_b, has_workgroup_matrices});
   EXPECT_TRUE(text) << (text ? "" : text.error().message);
   return text ? *text : "";
}

/// 16 of 64 rows each, and B whole, which the first stores.
TEST(lower_cmat_scope, subgroups_have_bands)
{
   const std::string text = lowered(R"(
      A a; B b; ACC(64, 32) c;
      coopMatLoad(a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(b, h, 8, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(c, f, 0, 64, gl_CooperativeMatrixLayoutColumnMajor);
      coopMatStore(coopMatMulAdd(a, b, c), f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(b, h, 8, 32, gl_CooperativeMatrixLayoutRowMajor);)");
   for (const char *type : {"<float16_t, SCOPE_SUBGROUP, 16, 16",
                            "<float16_t, SCOPE_SUBGROUP, 16, 32", "<float, SCOPE_SUBGROUP, 16, 32"})
      EXPECT_TRUE(has(text, type)) << type << "\n" << text;
   EXPECT_FALSE(has(text, "SCOPE_WORKGROUP, ")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 0u) << text;
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 1u) << text;
   EXPECT_EQ(test::count(text, "if "), 1u) << text;
}

/// Of 24 rows three subgroups have 8 each; the fourth then has the first one's.
TEST(lower_cmat_scope, fewer_bands_than_subgroups)
{
   const std::string text = lowered(R"(
      ACC(24, 32) c;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 8, 32")) << text;
   EXPECT_EQ(test::count(text, "umod"), 1u) << text;
   EXPECT_EQ(test::count(text, "if "), 1u) << text;
}

/// Of 64 rows of 32 columns over rows, columns or both.
std::string reduction(const std::string &over)
{
   return R"(
      ACC(64, 32) c, d;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatReduceNV(d, c, gl_CooperativeMatrixReduce)" +
          over + R"(NV, sum);
      coopMatStore(d, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)";
}

TEST(lower_cmat_scope, reductions_of_rows_stay_in_the_band)
{
   const std::string text = lowered(reduction("Row"));
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 0u) << text;
   EXPECT_EQ(test::count(text, "staging"), 0u) << text;
}

/// Each band is reduced first, and of the four results one row of 32 elements is shared.
TEST(lower_cmat_scope, reductions_of_columns_share_a_row_of_each_band)
{
   const std::string text = lowered(reduction("Column"));
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_reduce_weft"), 1u) << text;
   EXPECT_TRUE(has(text, "uint[128] staging")) << text;
   /* Without the memory for it, everybody does everything. */
   const std::string alone = lowered(reduction("Column"), 4 * 32 * 4 - 1);
   EXPECT_TRUE(has(alone, "<float, SCOPE_SUBGROUP, 64, 32")) << alone;
   EXPECT_EQ(test::count(alone, "@barrier"), 0u) << alone;
   EXPECT_EQ(test::count(alone, "staging"), 0u) << alone;
}

TEST(lower_cmat_scope, reductions_of_all_share_an_element_of_each_band)
{
   const std::string text = lowered(reduction("RowAndColumn"));
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_TRUE(has(text, "uint[4] staging")) << text;
}

/// In each iteration.
TEST(lower_cmat_scope, reductions_of_all_share_what_their_iteration_has)
{
   const std::string text = lowered("for (uint i = 0; i < 2 + gl_WorkGroupID.x; i++) {" +
                                    reduction("RowAndColumn") + "}");
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_LT(text.find("loop {"), text.find("@barrier")) << text;
}

/// Where both matrices are cut into as many bands, a band's squares are its own; where the halved
/// one is cut into fewer, the whole source is shared.
TEST(lower_cmat_scope, reductions_of_squares)
{
   const auto reduced = [](const std::string &rows, const std::string &half) {
      return lowered("ACC(" + rows + ", 32) c; ACC(" + half + R"(, 16) d;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatReduceNV(d, c, gl_CooperativeMatrixReduce2x2NV, sum);
      coopMatStore(d, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
   };
   const std::string own = reduced("64", "32");
   EXPECT_EQ(test::count(own, "@barrier"), 0u) << own;
   EXPECT_EQ(test::count(own, "@cmat_reduce_weft"), 1u) << own;
   const std::string shared = reduced("32", "16");
   EXPECT_EQ(test::count(shared, "@barrier"), 2u) << shared;
   EXPECT_TRUE(has(shared, "uint[1024] staging")) << shared;
}

/// Nothing says in which bands they are.
TEST(lower_cmat_scope, matrices_of_which_single_elements_are_read_are_not_cut)
{
   const auto read = [](nir_shader *nir) {
      nir_function_impl *impl = nir_shader_get_entrypoint(nir);
      nir_builder b = nir_builder_at(nir_after_impl(impl));
      nir_foreach_function_temp_variable(var, impl) {
         if (glsl_type_is_cmat(var->type))
            return void(nir_cmat_element_weft(&b, 32, &nir_build_deref_var(&b, var)->def,
                                              nir_imm_int(&b, 0), nir_imm_int(&b, 0)));
      }
   };
   const ScopeOptions options = {16, false, enough, false, false};
   const Result<std::string> text = lower(reduction("Row"), options, read);
   ASSERT_TRUE(text) << text.error().message;
   EXPECT_TRUE(has(*text, "<float, SCOPE_SUBGROUP, 64, 32")) << *text;
   EXPECT_EQ(test::count(*text, "@barrier"), 0u) << *text;
}

TEST(lower_cmat_scope, accumulators_that_become_b_share_the_matrix)
{
   const std::string text = lowered(R"(
      ACC(16, 32) c;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(B(c), h, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_TRUE(has(text, "uint16_t[512] staging")) << text;
}

/// Loaded by elements, B is the same for all subgroups; set by components it may differ.
TEST(lower_cmat_scope, components_of_b)
{
   const auto bands = [](const std::string &how) {
      const std::string text = lowered("B b = B(0);" + how + R"(
         coopMatStore(coopMatMulAdd(A(1), b, ACC(64, 32)(0)), f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)");
      return has(text, "<float, SCOPE_SUBGROUP, 16, 32");
   };
   EXPECT_TRUE(bands(R"(
      tensorLayoutNV<1> t = setTensorLayoutDimensionNV(createTensorLayoutNV(1), 512);
      coopMatLoadTensorNV(b, h, 0, t);)"));
   EXPECT_FALSE(bands("b[0] = float16_t(gl_LocalInvocationIndex);"));
}

/// The same where copies between the two are gone.
TEST(lower_cmat_scope, components_of_b_that_was_loaded)
{
   const auto bands = [](const std::string &how) {
      const Result<std::string> text =
         lower("B b = B(0); tensorLayoutNV<1> t = "
               "setTensorLayoutDimensionNV(createTensorLayoutNV(1), 512);" +
                  how + R"(
         coopMatStore(coopMatMulAdd(A(1), b, ACC(64, 32)(0)), f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)",
               {16, false, enough, false, false}, remove_copies);
      EXPECT_TRUE(text) << (text ? "" : text.error().message);
      return text && has(*text, "<float, SCOPE_SUBGROUP, 16, 32");
   };
   EXPECT_TRUE(bands("coopMatLoadTensorNV(b, h, 0, t);"));
   EXPECT_FALSE(
      bands("coopMatLoadTensorNV(b, h, 0, t); b[0] = float16_t(gl_LocalInvocationIndex);"));
}

const std::string multiplication = R"(
   A a = A(1); B b; ACC(64, 32) c = ACC(64, 32)(0);
   for (uint k = 0; k < 4; k++) {
      coopMatLoad(b, h, 512 * k, 16, gl_CooperativeMatrixLayoutColumnMajor);
      c = coopMatMulAdd(a, b, c);
   }
   coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)";

/// Two bands of 16 columns, of which the other two subgroups have a copy each.
TEST(lower_cmat_scope, b_in_bands)
{
   const std::string text = lowered(multiplication, enough, true);
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 16, B>")) << text;
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 32, B> whole")) << text;
   EXPECT_TRUE(has(text, "uint16_t[512] staging")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 2u) << text;
}

TEST(lower_cmat_scope, b_in_bands_of_a_workgroup_matrix)
{
   const std::string text = lowered(multiplication, enough, true, true);
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 16, B>")) << text;
   EXPECT_TRUE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 32, B> whole")) << text;
   EXPECT_EQ(test::count(text, "@cmat_insert_columns_weft"), 1u) << text;
   EXPECT_FALSE(has(text, "staging")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 1u) << text;
}

/// A load that is for one product only goes behind the first barrier, if nothing may change memory
/// meanwhile.
TEST(lower_cmat_scope, bands_of_a_workgroup_matrix_are_loaded_in_place)
{
   const auto loads = [](const std::string &between, const std::string &behind = "") {
      const Result<std::string> text = lower(R"(
      B b; ACC(64, 32) c = ACC(64, 32)(0);
      coopMatLoad(b, h, 512 * gl_WorkGroupID.x, 16, gl_CooperativeMatrixLayoutColumnMajor);)" +
                                                between + R"(
      c = coopMatMulAdd(A(1), b, c);)" + behind +
                                                R"(
      coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)",
                                             {16, false, enough, true, true}, remove_copies);
      EXPECT_TRUE(text) << (text ? "" : text.error().message);
      const size_t in_place = test::count(*text, "@cmat_load_columns_weft"),
                   first = test::count(*text, "@cmat_insert_columns_weft");
      EXPECT_EQ(test::count(*text, "@cmat_load "), first > 0 ? 1u : 0u) << *text;
      EXPECT_EQ(in_place > 0, first == 0) << *text;
      return in_place;
   };
   EXPECT_EQ(loads(""), 1u);
   EXPECT_EQ(loads("c = c + ACC(64, 32)(f[5]);"), 1u);
   EXPECT_EQ(loads("h[gl_LocalInvocationIndex] = float16_t(0);"), 0u);
   EXPECT_EQ(loads("atomicAdd(n, 1);"), 0u);
   EXPECT_EQ(loads("barrier();"), 0u);
   EXPECT_EQ(loads("if (f[5] > 0) return;"), 0u);
   EXPECT_EQ(loads("", "c = coopMatMulAdd(A(2), b, c);"), 0u);
   EXPECT_EQ(loads("", "coopMatStore(b, h, 0, 16, gl_CooperativeMatrixLayoutColumnMajor);"), 0u);
}

/// A product takes its matrix as the one before left it: there is one of each type.
TEST(lower_cmat_scope, products_share_a_workgroup_matrix)
{
   const std::string text =
      lowered(multiplication + "coopMatStore(coopMatMulAdd(a, b, c), f, 1, 32, "
                               "gl_CooperativeMatrixLayoutRowMajor);",
              enough, true, true);
   EXPECT_EQ(test::count(text, "@cmat_insert_columns_weft"), 2u) << text;
   EXPECT_EQ(test::count(text, " whole\n"), 1u) << text;
}

/// Kernels may need wider components.
TEST(lower_cmat_scope, b_in_bands_with_memory_for_its_elements_only)
{
   const std::string text = lowered(multiplication, 512 * 2 * 4 - 1, true, true);
   EXPECT_TRUE(has(text, "uint16_t[512] staging")) << text;
   EXPECT_FALSE(has(text, "@cmat_insert_columns_weft")) << text;
}

TEST(lower_cmat_scope, b_is_whole_without_memory_for_it)
{
   const std::string text = lowered(multiplication, 512 * 2 - 1, true);
   EXPECT_TRUE(has(text, "<float, SCOPE_SUBGROUP, 16, 32")) << text;
   EXPECT_FALSE(has(text, "<float16_t, SCOPE_SUBGROUP, 16, 16, B>")) << text;
   EXPECT_EQ(test::count(text, "@barrier"), 0u) << text;
}

/// The components that a subgroup sets in its band are shared; less than 16 columns are no band.
TEST(lower_cmat_scope, components_of_b_in_bands)
{
   const auto rows = [](const std::string &b) {
      const std::string text = lowered(b + R"( b;
         b[0] = float16_t(gl_LocalInvocationIndex);
         ACC(64, 32) c = ACC(64, 32)(0);
         coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(b, h, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)",
                                       enough, true);
      return has(text, "<float, SCOPE_SUBGROUP, 16, 32") ? 16 : 64;
   };
   EXPECT_EQ(rows("B"), 16);
   EXPECT_EQ(rows("coopmat<float16_t, gl_ScopeWorkgroup, 16, 16, gl_MatrixUseB>"), 64);
}

TEST(lower_cmat_scope, subgroups_have_to_fill_the_workgroup)
{
   const Result<std::string> text =
      lower("ACC(64, 32) c; if (c.length() == 1) return;", {24, false, enough});
   ASSERT_FALSE(text);
   EXPECT_EQ(text.error().message,
             "cooperative matrices of workgroup scope in a workgroup of 64 invocations, which "
             "subgroups of 24 do not fill");
}

} // namespace
} // namespace weft
