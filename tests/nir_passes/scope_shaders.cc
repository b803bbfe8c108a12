// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/nir_passes/scope_shaders.h"

#include "nir_passes/shader_text.h"

#include <gtest/gtest.h>

namespace weft::test {

namespace {

const std::string declarations = R"(
   #define ACC(rows, cols) coopmat<float, gl_ScopeWorkgroup, rows, cols, gl_MatrixUseAccumulator>
   #define A coopmat<float16_t, gl_ScopeWorkgroup, 64, 16, gl_MatrixUseA>
   #define B coopmat<float16_t, gl_ScopeWorkgroup, 16, 32, gl_MatrixUseB>
   layout(binding = 0) buffer Halves { float16_t h[]; };
   layout(binding = 1) buffer Floats { float f[]; };
   layout(binding = 2) buffer Counter { uint n; };
   float sum(const in float x, const in float y) { return x + y; }
   float16_t shift(const in uint row, const in uint col, const in float16_t x)
   {
      return x + float16_t(row);
   }
)";

} // namespace

Shader scope_shader(const std::string &main)
{
   const Source source = compile(declarations + "void main() {" + main + "}");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 16);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   nir_shader *nir = shader->get();
   nir_lower_vars_to_ssa(nir);
   nir_copy_prop(nir);
   nir_opt_dce(nir);
   return std::move(*shader);
}

std::string scope_reduction(const std::string &over)
{
   return R"(
      ACC(64, 32) c, d;
      coopMatLoad(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatReduceNV(d, c, gl_CooperativeMatrixReduce)" +
          over + R"(NV, sum);
      coopMatStore(d, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)";
}

std::string scope_products()
{
   return R"(
      A a = A(1); B b; ACC(64, 32) c = ACC(64, 32)(0);
      for (uint k = 0; k < 4; k++) {
         coopMatLoad(b, h, 512 * k, 16, gl_CooperativeMatrixLayoutColumnMajor);
         c = coopMatMulAdd(a, b, c);
      }
      coopMatStore(c, f, 0, 32, gl_CooperativeMatrixLayoutRowMajor);)";
}

std::string scope_text(nir_shader *nir)
{
   nir_validate_shader(nir, "scope_text");
   nir_opt_constant_folding(nir);
   nir_copy_prop(nir);
   nir_opt_cse(nir);
   nir_opt_dce(nir);
   return shader_text(nir);
}

} // namespace weft::test
