// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_cmat_layouts.h"

#include "nir_passes/matrices/validate_cmat.h"
#include "nir_passes/stages.h"
#include "tests/e2e/spirv_edits.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::count;

/// A matrix of 16x16 f16 in blocks of a storage buffer, stored as rows.
Result<Shader> read(const std::string &layout, const std::string &stride,
                    std::vector<uint32_t> stride_constant = {})
{
   test::Source source = test::compile(R"(
layout(constant_id = 3) const uint STRIDE = 2;
layout(set = 0, binding = 0) buffer Memory { float16_t data[]; } memory;
layout(set = 0, binding = 1) buffer Result { float16_t data[]; } result;
void main()
{
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
   coopMatLoad(m, memory.data, 8, )" + stride +
                                       ", " + layout + R"();
   coopMatStore(m, result.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   e2e::declare_blocked_layouts(source.spirv);
   if (!stride_constant.empty()) {
      source.constant_ids = {3};
      source.constant_values = stride_constant;
   }
   return read_shader(source.shader_source(), Consumer::driver, 32);
}

TEST(LowerCmatLayouts, LoopsOverComponents)
{
   for (const char *layout : {"4202", "4203"}) {
      Result<Shader> shader = read(layout, "2");
      ASSERT_TRUE(shader) << shader.error().message;
      nir_shader *nir = shader->get();
      ASSERT_TRUE(lower_cmat_layouts(nir, false));
      nir_validate_shader(nir, "lower_cmat_layouts");
      const std::string text = test::body(nir);
      EXPECT_EQ(count(text, "@cmat_load"), 0u) << text;
      EXPECT_EQ(count(text, "@cmat_store"), 1u) << text;
      EXPECT_EQ(count(text, "@cmat_insert"), 1u) << text;
      EXPECT_EQ(count(text, "@load_deref"), 2u) << text; // the element, and the loop's counter
      EXPECT_EQ(count(text, "@get_ssbo_size"), 0u) << text;
      EXPECT_FALSE(lower_cmat_layouts(nir, false));
   }
}

TEST(LowerCmatLayouts, LooksAtBoundsWithRobustAccess)
{
   Result<Shader> shader = read("4202", "1");
   ASSERT_TRUE(shader) << shader.error().message;
   ASSERT_TRUE(lower_cmat_layouts(shader->get(), true));
   EXPECT_EQ(count(test::body(shader->get()), "@get_ssbo_size"), 1u);
}

/// The front end checks the specialized module.
TEST(LowerCmatLayouts, SpecializedStrides)
{
   EXPECT_TRUE(read("4203", "STRIDE", {4}));
   for (const uint32_t wrong : {0u, 3u, 8u}) {
      const Result<Shader> shader = read("4203", "STRIDE", {wrong});
      ASSERT_FALSE(shader);
      EXPECT_NE(shader.error().message.find("it has to be 1, 2 or 4"), std::string::npos)
         << shader.error().message;
   }
   const Result<Shader> shader = read("4202", "STRIDE", {4});
   ASSERT_FALSE(shader);
   EXPECT_NE(shader.error().message.find("its columns one of 32"), std::string::npos)
      << shader.error().message;
}

} // namespace
} // namespace weft
