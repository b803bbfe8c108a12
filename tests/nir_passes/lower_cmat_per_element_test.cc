// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Per-element operations stay whole until they are lowered. tests/e2e/cmat_elements_test.cc
/// compares their results.

#include "nir_passes/matrices/lowering/lower_cmat_per_element.h"

#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::count;

/// An operation with further operands of every kind: a number, a vector, a struct with an array,
/// and a matrix, of which the function takes an element.
test::Source source()
{
   return test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
layout(binding = 0) buffer Data { float data[]; };
struct Scale { float by[2]; vec2 add; };
float f(const in uint row, const in uint col, const in float x, const in float y, const in uint n,
        const in vec4 v, const in Scale s)
{
   return x * s.by[row & 1] + y + float(n) + v[col & 3] + s.add.y;
}
void main()
{
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> m, other;
   coopMatLoad(m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(other, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   Scale s;
   s.by[0] = data[0];
   s.by[1] = data[1];
   s.add = vec2(data[2], data[3]);
   coopMatPerElementNV(m, m, f, other, uint(data[4]), vec4(data[5], data[6], data[7], data[8]), s);
   coopMatStore(m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
}

TEST(LowerCmatPerElement, OperationsAreWholeBefore)
{
   const test::Source shader_source = source();
   const Result<Shader> shader = read_shader(shader_source.shader_source(), Consumer::cpu, 32);
   ASSERT_TRUE(shader) << shader.error().message;
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   nir_copy_prop(nir);
   nir_opt_dce(nir);
   EXPECT_FALSE(lower_cmat_per_element(nir, PerElementOps::of_whole_matrices));
   opt_cmat_copies(nir);
   const std::string text = test::body(nir);
   EXPECT_EQ(count(text, "@cmat_per_element_weft"), 1u) << text;
   EXPECT_EQ(count(text, "@cmat_element_argument_weft"), 1u) << text;
   EXPECT_EQ(count(text, "@cmat_argument_weft"), 1u + 1u + 2u + 1u) << text;
   EXPECT_EQ(count(text, "@cmat_copy"), 0u) << text;
   EXPECT_EQ(count(text, "loop {"), 0u) << text;
   EXPECT_EQ(exec_list_length(&nir->functions), 2u) << text;
}

TEST(LowerCmatPerElement, CallsInALoop)
{
   const test::Source shader_source = source();
   const Result<Shader> shader = read_shader(shader_source.shader_source(), Consumer::cpu, 32);
   ASSERT_TRUE(shader) << shader.error().message;
   nir_shader *nir = shader->get();
   EXPECT_TRUE(lower_cmat_per_element(nir, PerElementOps::all));
   nir_validate_shader(nir, "lower_cmat_per_element");
   EXPECT_FALSE(lower_cmat_per_element(nir, PerElementOps::all));
   nir_inline_functions(nir);
   remove_unused_functions(nir);
   nir_copy_prop(nir);
   nir_opt_dce(nir);
   nir_validate_shader(nir, "nir_inline_functions");
   EXPECT_EQ(exec_list_length(&nir->functions), 1u);
   const std::string text = test::body(nir);
   EXPECT_EQ(count(text, "loop {"), 1u) << text;
   EXPECT_EQ(count(text, "@cmat_extract"), 2u) << text;
   EXPECT_EQ(count(text, "@cmat_insert"), 1u) << text;
   EXPECT_EQ(count(text, "argument_weft"), 0u) << text;
}

} // namespace
} // namespace weft
