// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The pass as text, on matrices of two or four tiles of 8×8.

#include "nir_passes/lower_cmat_shapes.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr NativeShape eight = {8, 8, {0, 8, 0, 0}};

const std::string types = R"(
   #define ACC coopmat<float, gl_ScopeSubgroup, 8, 16, gl_MatrixUseAccumulator>
   #define A coopmat<float16_t, gl_ScopeSubgroup, 8, 16, gl_MatrixUseA>
   #define B coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>
   layout(binding = 0) buffer Halves { float16_t h[]; };
   layout(binding = 1) buffer Floats { float f[]; };
)";

std::string lowered(const std::string &main)
{
   const test::Source source = test::compile(types + "void main() {" + main + "}");
   Result<Shader> shader = spirv_to_nir(source.shader_source(), test::target(32, false));
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_shader *nir = shader->get();
   nir_opt_constant_folding(nir);
   EXPECT_TRUE(lower_cmat_shapes(nir, eight, false));
   nir_opt_constant_folding(nir);
   nir_copy_prop(nir);
   nir_opt_cse(nir);
   nir_opt_dce(nir);
   nir_validate_shader(nir, "lower_cmat_shapes");
   return test::body(nir);
}

unsigned count(const std::string &text, const std::string &part)
{
   unsigned n = 0;
   for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++n;
   return n;
}

TEST(lower_cmat_shapes, a_product_is_the_products_of_tiles)
{
   const std::string text = lowered(R"(
      A a; B b; ACC c;
      coopMatLoad(a, h, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(b, h, 1, 32, gl_CooperativeMatrixLayoutColumnMajor);
      coopMatLoad(c, f, 2, 64, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(coopMatMulAdd(a, b, c), f, 2, 64, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(count(text, "@tile_load_weft"), 2u + 4u + 2u) << text;
   EXPECT_EQ(count(text, "@tile_muladd_weft"), 2u * 2u) << text;
   EXPECT_EQ(count(text, "@tile_store_weft"), 2u) << text;
   EXPECT_EQ(count(text, "@cmat_"), count(text, "@cmat_copy")) << text;
}

/// Eight columns on, or eight rows of the stride's bytes; strides stay those of the whole matrix.
TEST(lower_cmat_shapes, tiles_lie_within_the_matrix)
{
   const std::string text = lowered(R"(
      B b;
      coopMatLoad(b, h, 0, 40, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(b, h, 0, 40, gl_CooperativeMatrixLayoutRowMajor);)");
   /* Eight columns, eight rows of 40, both; 80 bytes. */
   for (const char *number : {"0x00000008", "0x00000140", "0x00000148", "0x00000050"})
      EXPECT_NE(text.find(number), std::string::npos) << number << "\n" << text;
}

/// How many components a tile has is for the driver to say.
TEST(lower_cmat_shapes, components_are_numbered_by_tile)
{
   const std::string text = lowered(R"(
      ACC c = ACC(0);
      for (int i = 0; i < c.length(); ++i)
         c[i] = c[i] + 1;
      coopMatStore(c, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_NE(text.find("@cmat_length"), std::string::npos) << text;
   EXPECT_NE(text.find("udiv"), std::string::npos) << text;
   EXPECT_NE(text.find("umod"), std::string::npos) << text;
   EXPECT_EQ(count(text, "@cmat_construct"), 2u) << text;
   EXPECT_EQ(count(text, "@cmat_extract"), 1u) << text;
   EXPECT_EQ(count(text, "@cmat_insert"), 1u) << text;
}

TEST(lower_cmat_shapes, operations_on_components_are_done_for_each_tile)
{
   const std::string text = lowered(R"(
      ACC c;
      coopMatLoad(c, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore((-c + c) * 2.0, f, 0, 16, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_EQ(count(text, "@cmat_unary_op"), 2u) << text;
   EXPECT_EQ(count(text, "@cmat_binary_op"), 2u) << text;
   EXPECT_EQ(count(text, "@cmat_scalar_op"), 2u) << text;
}

} // namespace
} // namespace weft
