// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/split_cmat_structs.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::count;

struct Split {
   bool changed;
   std::string text;
};

Split split(const std::string &main)
{
   const test::Source source = test::compile(R"(
      layout(set = 0, binding = 0) buffer Data { float data[]; };
      #define ACC coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
      struct Inner { ACC m; uint n; };
      struct Outer { Inner inner[2]; ACC m; float numbers[3]; };
      struct Plain { uint n; float x; };
      void main() {)" + main + "}");
   Result<Shader> shader = read_shader(source.shader_source(), Consumer::cpu, 32);
   EXPECT_TRUE(shader) << (shader ? "" : shader.error().message);
   const bool changed = split_cmat_structs(shader->get());
   nir_validate_shader(shader->get(), "split_cmat_structs");
   nir_opt_dce(shader->get());
   nir_remove_dead_variables(shader->get(), nir_var_function_temp, nullptr);
   return {changed, test::body(shader->get())};
}

TEST(SplitCmatStructs, MembersBecomeVariables)
{
   const Split s = split(R"(
      Inner s;
      s.n = uint(data[0]);
      coopMatLoad(s.m, data, s.n, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatStore(s.m, data, s.n, 16, gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_TRUE(s.changed);
   EXPECT_EQ(count(s.text, "Inner"), 0u) << s.text;
   EXPECT_EQ(count(s.text, "uint s_1"), 1u) << s.text;
}

TEST(SplitCmatStructs, ArraysOfStructsBecomeArrays)
{
   const Split s = split(R"(
      Outer s[4];
      const uint i = uint(data[0]), j = uint(data[1]);
      coopMatLoad(s[i].inner[j].m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(s[j].m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      s[j].numbers[i] = 1;
      coopMatStore(s[j].inner[i].m + s[i].m, data, uint(s[i].numbers[j]), 16,
                   gl_CooperativeMatrixLayoutRowMajor);)");
   EXPECT_TRUE(s.changed);
   EXPECT_EQ(count(s.text, "Outer"), 0u) << s.text;
   EXPECT_EQ(count(s.text, "Inner"), 0u) << s.text;
   EXPECT_EQ(count(s.text, "float[4][3] s_2") + count(s.text, "float[3][4] s_2"), 1u) << s.text;
   EXPECT_GE(count(s.text, "[2][4] s_0_0") + count(s.text, "[4][2] s_0_0"), 1u) << s.text;
}

TEST(SplitCmatStructs, StructsWithoutMatricesStay)
{
   const Split s = split(R"(
      Plain p[2];
      p[uint(data[0])].n = 1;
      data[1] = p[uint(data[2])].n;)");
   EXPECT_FALSE(s.changed);
}

} // namespace
} // namespace weft
