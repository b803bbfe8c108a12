// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The tensor loads that become cmat_load, and the ones that go element by element.
/// tests/e2e/cmat_tensor_test.cc checks their results.

#include "nir_passes/stages.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Paths {
   bool plain, by_elements;
   bool operator==(const Paths &) const = default;
};

void PrintTo(const Paths &p, std::ostream *stream)
{
   *stream << (p.plain ? "plain " : "") << (p.by_elements ? "by elements" : "");
}

constexpr Paths plain = {true, false}, by_elements = {false, true}, either = {true, true};

/// Of 16 x 16 halves of a tensor with 64 in a row, whose first element is named.
Paths paths_to(const std::string &first, MatrixForm form = MatrixForm::registers,
               const std::string &stride = "64")
{
   const test::Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_EXT_buffer_reference : enable
layout(buffer_reference, std430) buffer Halves { float16_t data[]; };
layout(set = 0, binding = 0) buffer Memory { float16_t data[]; } memory;
layout(set = 0, binding = 1) buffer Behind { float16_t one, data[]; } behind;
layout(set = 0, binding = 2) buffer Result { float16_t data[]; } result;
layout(push_constant) uniform Push { Halves halves; uint number; };
void main()
{
   tensorLayoutNV<2> t = createTensorLayoutNV(2);
   t = setTensorLayoutDimensionNV(t, 64, 64);
   t = setTensorLayoutStrideNV(t, )" + stride +
                                             R"(, 1);
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
   coopMatLoadTensorNV(a, )" + first + R"(, sliceTensorLayoutNV(t, 0, 16, 16, 16));
   coopMatStore(a, result.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   const Result<Shader> shader =
      read_shader(source.shader_source(), Consumer::cpu, 32, {}, nullptr, form);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return {};
   }
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   bool progress = true;
   while (progress) {
      progress = nir_copy_prop(nir);
      progress |= nir_opt_algebraic(nir);
      progress |= nir_opt_constant_folding(nir);
      progress |= nir_opt_dead_cf(nir);
      progress |= nir_opt_dce(nir);
   }
   const std::string text = test::body(nir);
   return {test::count(text, "@cmat_load ") > 0, test::count(text, "@cmat_insert ") > 0};
}

TEST(vtn_tensor_access, whole_slices_are_plain)
{
   EXPECT_EQ(paths_to("memory.data, 0"), plain);
}

/// VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986: 16 bytes.
TEST(vtn_tensor_access, plain_loads_are_aligned)
{
   EXPECT_EQ(paths_to("memory.data, 8"), plain);
   EXPECT_EQ(paths_to("memory.data, 4"), by_elements);
   EXPECT_EQ(paths_to("memory.data, 1"), by_elements);
   EXPECT_EQ(paths_to("memory.data, number"), either);
   EXPECT_EQ(paths_to("behind.data, 0"), by_elements);
   EXPECT_EQ(paths_to("halves.data, 0"), either);
   EXPECT_EQ(paths_to("memory.data, 0", MatrixForm::registers, "60"), by_elements);
}

TEST(vtn_tensor_access, private_tiles_need_no_alignment)
{
   for (const char *first : {"memory.data, 1", "memory.data, number", "halves.data, 0"})
      EXPECT_EQ(paths_to(first, MatrixForm::private_tiles), plain) << first;
   EXPECT_EQ(paths_to("memory.data, 0", MatrixForm::private_tiles, "60"), plain);
}

} // namespace
} // namespace weft
