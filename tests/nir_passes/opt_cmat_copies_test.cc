// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/opt_cmat_copies.h"

#include "nir_passes/cmat_description.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// A loop over loads through a layout whose numbers are not known, in the form in which
/// lower_matrices() has it there.
std::string optimized(const std::string &load)
{
   const test::Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
layout(set = 0, binding = 0) buffer Memory { float16_t data[]; } memory;
layout(set = 0, binding = 1) buffer Result { float data[]; } result;
layout(push_constant) uniform Push { uint stride, count, clip; };
void main()
{
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum =
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0);
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
   coopMatLoad(b, memory.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   tensorLayoutNV<2> t = createTensorLayoutNV(2);
   t = setTensorLayoutDimensionNV(t, count, count);
   t = setTensorLayoutStrideNV(t, stride, 1);
   tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
   for (uint k = 0; k < count; k += 16) {
      tensorLayoutNV<2> part = sliceTensorLayoutNV(t, 0, 16, k, 16);
      )" + load + R"(
      sum = coopMatMulAdd(a, b, sum);
   }
   coopMatStore(sum, result.data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   const Result<Shader> shader =
      read_shader(source.shader_source(), Consumer::cpu, 32, {}, nullptr);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return "";
   }
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   nir_copy_prop(nir);
   nir_opt_constant_folding(nir);
   nir_opt_dead_cf(nir);
   nir_opt_dce(nir);
   opt_cmat_copies(nir);
   nir_validate_shader(nir, "opt_cmat_copies");
   nir_opt_dce(nir);
   return test::body(nir);
}

TEST(opt_cmat_copies, tensor_loads_write_where_their_result_goes)
{
   for (const char *load : {"coopMatLoadTensorNV(a, memory.data, 0, part);",
                            "coopMatLoadTensorNV(a, memory.data, 0, part, turned);"}) {
      const std::string text = optimized(load);
      EXPECT_EQ(test::count(text, "@cmat_copy"), 0u) << load << "\n" << text;
      EXPECT_EQ(test::count(text, "@cmat_load "), 2u) << load << "\n" << text;
      EXPECT_EQ(test::count(text, "@cmat_insert "), 1u) << load << "\n" << text;
   }
}

/// What a clip leaves out has to be there.
TEST(opt_cmat_copies, what_is_clipped_is_kept)
{
   const std::string text = optimized("coopMatLoadTensorNV(a, memory.data, 0, part, "
                                      "setTensorViewClipNV(turned, 0, clip, 0, 16));");
   EXPECT_GT(test::count(text, "@cmat_copy"), 0u) << text;
}

/// As a matrix that is loaded anew in each iteration, but is a phi of the loop all the same.
TEST(opt_cmat_copies, what_loops_carry_for_nobody_goes)
{
   glsl_cmat_description desc = {};
   desc.element_type = GLSL_TYPE_FLOAT16;
   desc.scope = SCOPE_SUBGROUP;
   desc.rows = desc.cols = 16;
   desc.use = GLSL_CMAT_USE_A;
   for (const bool is_read : {false, true}) {
      test::Built shader;
      nir_builder *b = &shader.b;
      const auto matrix = [&](const char *name) {
         nir_variable *variable = nir_local_variable_create(b->impl, glsl_cmat_type(&desc), name);
         return [=] { return &nir_build_deref_var(b, variable)->def; };
      };
      const auto phi = matrix("phi"), value = matrix("value"), next = matrix("next");
      nir_cmat_construct(b, phi(), nir_imm_intN_t(b, 0, 16));
      nir_loop *loop = nir_push_loop(b);
      nir_cmat_copy(b, value(), phi());
      nir_break_if(b, nir_ieq_imm(b, nir_load_subgroup_invocation(b), 0));
      nir_cmat_copy(b, next(), value());
      nir_break_if(b, nir_ieq_imm(b, nir_load_subgroup_invocation(b), 1));
      nir_cmat_copy(b, phi(), next());
      nir_pop_loop(b, loop);
      if (is_read)
         nir_store_shared(b, nir_cmat_extract(b, 16, phi(), nir_imm_int(b, 0)), nir_imm_int(b, 0));
      opt_cmat_copies(b->shader);
      nir_validate_shader(b->shader, "opt_cmat_copies");
      const std::string text = test::body(b->shader);
      EXPECT_EQ(text.find("@cmat_") != std::string::npos, is_read) << text;
   }
}

} // namespace
} // namespace weft
