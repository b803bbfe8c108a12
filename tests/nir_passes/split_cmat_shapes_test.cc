// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The pass's output as text, for matrices of two or four tiles of 8×8.

#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/shapes/split_cmat_shapes.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft {
namespace {

constexpr NativeShape eight = {8, 8, {8, 8, 0, 0}};

const std::string types = R"(
   #define ACC coopmat<float, gl_ScopeSubgroup, 8, 16, gl_MatrixUseAccumulator>
   #define A coopmat<float16_t, gl_ScopeSubgroup, 8, 16, gl_MatrixUseA>
   #define B coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
   layout(binding = 0) buffer Halves { float16_t h[]; };
   layout(binding = 1) buffer Floats { float f[]; };
)";

/// `add` may add instructions that GLSL lacks.
std::string lowered(
   const std::string &main, MatrixForm form = MatrixForm::private_tiles,
   const std::function<void(nir_builder *)> &add = [](nir_builder *) {})
{
   const test::Source source = test::compile(types + "void main() {" + main + "}");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 32);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_shader *nir = shader->get();
   nir_opt_constant_folding(nir);
   nir_builder b = nir_builder_at(nir_after_impl(nir_shader_get_entrypoint(nir)));
   add(&b);
   lower_cmat_inserts(nir);
   EXPECT_TRUE(split_cmat_shapes(nir, {eight, form, 32}));
   nir_opt_constant_folding(nir);
   nir_copy_prop(nir);
   nir_opt_cse(nir);
   nir_opt_dce(nir);
   nir_validate_shader(nir, "split_cmat_shapes");
   return test::body(nir);
}

TEST(SplitCmatShapes, AProductIsTheProductsOfTiles)
{
   const std::string text = lowered(R"(
      A a; B b; ACC c;
      coopMatLoad(a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(b, h, 1, 32, gl_CooperativeMatrixLayoutColumnMajor);
      coopMatLoad(c, f, 2, 64, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(coopMatMulAdd(a, b, c), f, 2, 64, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(test::count(text, "@cmat_load"), 2u + 4u + 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_muladd"), 2u * 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 2u) << text;
}

/// Eight columns on, or eight rows of the stride's bytes; strides stay the whole matrix's.
TEST(SplitCmatShapes, TilesLieWithinTheMatrix)
{
   const std::string text = lowered(R"(
      B b;
      coopMatLoad(b, h, 0, 40, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(b, h, 0, 40, gl_CooperativeMatrixLayoutRowMajor);)");
   /* Eight columns, eight rows of 40, both; the stride. */
   for (const char *number : {"0x00000008", "0x00000140", "0x00000148", "0x00000028"})
      EXPECT_NE(text.find(number), std::string::npos) << number << "\n" << text;
}

/// Loads the last eight columns of a matrix of `rows` rows and 16 columns.
std::string with_columns(const std::string &rows)
{
   return lowered(
      "coopmat<float16_t, gl_ScopeSubgroup, " + rows + R"(, 16, gl_MatrixUseB> b;
      coopMatLoad(b, h, 0, 40, gl_CooperativeMatrixLayoutColumnMajor);
      coopMatStore(b, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)",
      MatrixForm::private_tiles, [](nir_builder *b) {
         nir_foreach_block(block, b->impl) {
            nir_foreach_instr(instr, block) {
               if (instr->type != nir_instr_type_intrinsic ||
                   nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_cmat_load)
                  continue;
               nir_intrinsic_instr *load = nir_instr_as_intrinsic(instr);
               glsl_cmat_description columns =
                  *glsl_get_cmat_description(nir_src_as_deref(load->src[0])->type);
               columns.cols = 8;
               b->cursor = nir_before_instr(instr);
               _nir_build_cmat_load_columns_weft(
                  b, load->src[0].ssa, load->src[1].ssa, load->src[2].ssa, nir_imm_int(b, 8),
                  {._ = 0, .cmat_desc = columns, .matrix_layout = GLSL_MATRIX_LAYOUT_COLUMN_MAJOR});
               nir_instr_remove(instr);
               return;
            }
         }
      });
}

/// One of the two tiles lies at the edge and is filled element by element first.
TEST(SplitCmatShapes, ColumnsAreLoadedIntoTheirTiles)
{
   const std::string text = with_columns("16");
   EXPECT_EQ(test::count(text, "@cmat_load"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_insert"), 0u) << text;
   const std::string padded = with_columns("12");
   EXPECT_EQ(test::count(padded, "@cmat_load"), 1u) << padded;
   EXPECT_EQ(test::count(padded, "@cmat_insert_columns_weft"), 2u) << padded;
   EXPECT_EQ(test::count(padded, "@cmat_construct"), 1u) << padded;
}

/// The driver defines the number of components of a tile.
TEST(SplitCmatShapes, ComponentsAreNumberedByTile)
{
   const std::string text = lowered(R"(
      ACC c = ACC(0);
      for (int i = 0; i < c.length(); ++i)
         c[i] = c[i] + 1;
      coopMatStore(c, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_NE(text.find("@cmat_length"), std::string::npos) << text;
   EXPECT_NE(text.find("udiv"), std::string::npos) << text;
   EXPECT_NE(text.find("umod"), std::string::npos) << text;
   EXPECT_EQ(test::count(text, "@cmat_construct"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_extract"), 1u) << text;
   EXPECT_EQ(test::count(text, "@cmat_insert"), 1u) << text;
}

TEST(SplitCmatShapes, OperationsOnComponentsAreDoneForEachTile)
{
   const std::string text = lowered(R"(
      ACC c;
      coopMatLoad(c, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore((-c + c) * 2.0, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(test::count(text, "@cmat_unary_op"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_binary_op"), 2u) << text;
   EXPECT_EQ(test::count(text, "@cmat_scalar_op"), 2u) << text;
}

/// The second tile has four of the 12 columns: only its elements are accessed one by one.
TEST(SplitCmatShapes, TilesAtTheEdgeAreAccessedByElement)
{
   const std::string text = lowered(R"(
      coopmat<float16_t, gl_ScopeSubgroup, 8, 12, gl_MatrixUseA> a;
      coopMatLoad(a, h, 0, 12, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(a, h, 0, 12, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(test::count(text, "@cmat_load"), 1u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 1u) << text;
   EXPECT_EQ(test::count(text, "@cmat_construct"), 1u) << text; // zeros
   EXPECT_EQ(test::count(text, "@cmat_insert"), 1u) << text;
   EXPECT_EQ(test::count(text, "@cmat_extract"), 1u) << text;
   EXPECT_EQ(test::count(text, "loop {"), 2u) << text;
}

/// For any number of tiles, the code has one loop for whole tiles and one for each edge, with a
/// corner.
TEST(SplitCmatShapes, ManyTilesAreLoops)
{
   const std::string text = lowered(R"(
      coopmat<float, gl_ScopeSubgroup, 132, 244, gl_MatrixUseAccumulator> c, d;
      coopMatLoad(c, f, 0, 244, gl_CooperativeMatrixLayoutRowMajor);
      d = c + c;
      coopMatStore(d, f, 0, 244, gl_CooperativeMatrixLayoutColumnMajor);)");
   EXPECT_EQ(test::count(text, "@cmat_load"), 1u) << text;
   EXPECT_EQ(test::count(text, "@cmat_store"), 1u) << text;
   EXPECT_EQ(test::count(text, "@cmat_binary_op"), 1u) << text;
   /* Loops over tiles, and over the components of tiles at the edges; for each copy. */
   EXPECT_EQ(test::count(text, "loop {"), 4u + 3u + 1u + 4u + 3u + test::count(text, "@cmat_copy"))
      << text;

   const auto product = [](const std::string &depth) {
      return lowered("coopmat<float16_t, gl_ScopeSubgroup, 64, " + depth +
                     ", gl_MatrixUseA> a;\n"
                     "coopmat<float16_t, gl_ScopeSubgroup, " +
                     depth +
                     ", 64, gl_MatrixUseB> b;\n"
                     "coopmat<float, gl_ScopeSubgroup, 64, 64, gl_MatrixUseAccumulator> c;\n"
                     "c = coopMatMulAdd(a, b, c);\n"
                     "coopMatStore(c, f, 0, 64, gl_CooperativeMatrixLayoutRowMajor);\n");
   };
   /* A loop over the sums. A long sum has its first product, and another loop over all later
    * products. */
   EXPECT_EQ(test::count(product("80"), "@cmat_muladd"), 10u) << product("80");
   EXPECT_EQ(test::count(product("160"), "@cmat_muladd"), 2u) << product("160");
}

TEST(SplitCmatShapes, LongSumsAreRoundedOrSaturateOnce)
{
   const std::string rounded = lowered(R"(
      coopmat<float16_t, gl_ScopeSubgroup, 8, 32, gl_MatrixUseA> a;
      coopmat<float16_t, gl_ScopeSubgroup, 32, 8, gl_MatrixUseB> b;
      coopmat<float16_t, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> c;
      coopMatLoad(c, h, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
      c = coopMatMulAdd(a, b, c);
      coopMatStore(c, h, 0, 8, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(test::count(rounded, "@cmat_muladd"), 4u) << rounded;
   // All sums use one tile of f32.
   EXPECT_EQ(test::count(rounded, "&sum"), 1u) << rounded;
   EXPECT_EQ(test::count(rounded, "(function_temp coopmat<float, SCOPE_SUBGROUP, 8, 8, ACC"), 1u)
      << rounded;
   EXPECT_EQ(test::count(rounded, "alu_op"), 0u) << rounded;

   const std::string saturating = lowered(R"(
      coopmat<int8_t, gl_ScopeSubgroup, 8, 32, gl_MatrixUseA> a;
      coopmat<int8_t, gl_ScopeSubgroup, 32, 8, gl_MatrixUseB> b;
      coopmat<int, gl_ScopeSubgroup, 8, 8, gl_MatrixUseAccumulator> c;
      coopMatLoad(c, f, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
      c = coopMatMulAdd(a, b, c, gl_MatrixOperandsSaturatingAccumulation);
      coopMatStore(c, f, 0, 8, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(test::count(saturating, "@cmat_muladd"), 4u) << saturating;
   EXPECT_EQ(test::count(saturating, "alu_op=iadd_sat"), 1u) << saturating;
}

/// Runs of four; a tile has 16. 32 invocations take two tiles at once, if these lie behind each
/// other.
TEST(SplitCmatShapes, RunsOfSmallTilesAreNumberedTogether)
{
   const auto number_runs = [](nir_builder *b) {
      nir_foreach_function_temp_variable(var, b->impl) {
         if (!glsl_type_is_cmat(var->type))
            continue;
         nir_deref_instr *matrix = nir_build_deref_var(b, var);
         nir_def *at = _nir_build_cmat_run_coordinates_weft(
            b, nir_imm_int(b, 0),
            {._ = 0,
             .cmat_desc = *glsl_get_cmat_description(var->type),
             .matrix_layout = GLSL_MATRIX_LAYOUT_ROW_MAJOR,
             .run_length = 4});
         nir_def *column = nir_u2f16(b, nir_channel(b, at, 1));
         _nir_build_cmat_insert_run_weft(b, &matrix->def, nir_replicate(b, column, 4), &matrix->def,
                                         nir_imm_int(b, 0),
                                         {._ = 0, .matrix_layout = GLSL_MATRIX_LAYOUT_ROW_MAJOR});
         return;
      }
   };
   const auto has_stack = [&](const std::string &type, MatrixForm form) {
      const std::string text = lowered(type + R"( a;
         coopMatLoad(a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)",
                                       form, number_runs);
      EXPECT_EQ(test::count(text, "@cmat_insert_run_weft"), 1u) << text;
      const size_t at = text.find("@cmat_run_coordinates_weft");
      return text.find("16, 8, A", at) < text.find('\n', at);
   };
   EXPECT_TRUE(has_stack("A", MatrixForm::private_tiles));
   EXPECT_FALSE(has_stack("A", MatrixForm::registers));
   EXPECT_FALSE(has_stack("coopmat<float16_t, gl_ScopeSubgroup, 8, 24, gl_MatrixUseA>",
                          MatrixForm::private_tiles));
}

/// The padding of factors along K stays zero, because it takes part in sums.
TEST(SplitCmatShapes, PaddingOfFactorsStaysZero)
{
   const auto clearings = [](const std::string &use, const std::string &size) {
      const std::string text = lowered(
         "coopmat<float16_t, gl_ScopeSubgroup, " + size + ", gl_MatrixUse" + use +
         "> m = coopmat<float16_t, gl_ScopeSubgroup, " + size + ", gl_MatrixUse" + use + R"(>(7);
      coopMatStore(m, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
      return test::count(text, "bcsel");
   };
   EXPECT_EQ(clearings("A", "8, 12"), 1u);
   EXPECT_EQ(clearings("A", "12, 8"), 0u);
   EXPECT_EQ(clearings("B", "12, 8"), 1u);
   EXPECT_EQ(clearings("B", "8, 12"), 0u);
   EXPECT_EQ(clearings("Accumulator", "12, 12"), 0u);
}

} // namespace
} // namespace weft
