// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The subgroup size of shaders that cannot see it.

#include "backend/cpu/subgroup_width.h"

#include "backend/cpu/cpu_features.h"
#include "tests/backend/cpu/shader_runner.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

std::string shader_of(const std::string &statements, const std::string &size = "256")
{
   return std::string(e2e::glsl_header) + "layout(local_size_x = " + size + R"() in;
      layout(binding = 0) buffer A { float a[]; };
      layout(binding = 1) buffer O { float o[]; };
      shared float s[256];
      void main() {
         const uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationIndex;
         )" +
          statements + "}";
}

CompileOptions widening()
{
   CompileOptions options;
   options.may_widen_subgroups = true;
   return options;
}

/// The size that the compiler chooses.
uint32_t size_of(const std::string &glsl, CompileOptions options = widening())
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(glsl);
   options.bindings = buffer_bindings(2);
   const auto program = compile({spirv, "main", {}}, options);
   EXPECT_TRUE(program) << program.error().message;
   return program ? (*program)->info().subgroup_size : 0;
}

/// 64, if the machine's registers allow it.
uint32_t wide()
{
   return host_features().target.vector_bits == 512 ? wide_subgroup_size : default_subgroup_size;
}

/// Values that live at once.
std::string many_values(unsigned count)
{
   std::string loads, sum = "0.0";
   for (unsigned i = 0; i < count; i++) {
      const std::string name = "v" + std::to_string(i);
      loads += "float " + name + " = a[i + " + std::to_string(1000 * i) + "];\n";
      sum += " + " + name + " * " + name;
   }
   return loads + "o[i + 1] = 3.0; memoryBarrierBuffer();\no[i] = " + sum + ";";
}

TEST(SubgroupWidth, SmallShadersAreWide)
{
   EXPECT_EQ(size_of(shader_of("o[i] = 2.0 * a[i];")), wide());
   EXPECT_EQ(size_of(shader_of("o[i] = 2.0 * a[i];", "64")), wide());
   EXPECT_EQ(size_of(shader_of("s[l] = a[i]; barrier(); o[i] = s[l ^ 1];")), wide());
}

TEST(SubgroupWidth, ShadersThatSeeSubgroupsAreNot)
{
   for (const char *value :
        {"subgroupAdd(a[i])", "float(gl_SubgroupSize)", "float(gl_SubgroupInvocationID)",
         "subgroupAny(a[i] > 0.0) ? 1.0 : 2.0", "subgroupShuffle(a[i], l ^ 1)"})
      EXPECT_EQ(size_of(shader_of(std::string("o[i] = ") + value + ";")), default_subgroup_size)
         << value;
}

TEST(SubgroupWidth, ChosenSizesStay)
{
   const std::string copy = shader_of("o[i] = a[i];");
   EXPECT_EQ(size_of(copy, {}), default_subgroup_size);
   CompileOptions chosen;
   chosen.subgroup_size = 16;
   EXPECT_EQ(size_of(copy, chosen), 16u);
}

TEST(SubgroupWidth, WorkgroupsFillTheirSubgroups)
{
   EXPECT_EQ(size_of(shader_of("o[i] = a[i];", "32")), default_subgroup_size);
   EXPECT_EQ(size_of(shader_of("o[i] = a[i];", "96")), default_subgroup_size);
   EXPECT_EQ(size_of(shader_of("o[i] = a[i];", "192")), wide());
}

TEST(SubgroupWidth, SubgroupsOfOneRowStayInIt)
{
   const auto width = [](const char *x, const char *y) {
      return size_of(
         shader_of("o[i] = a[i];", std::string(x) + ", local_size_y = " + std::string(y)));
   };
   EXPECT_EQ(width("32", "8"), default_subgroup_size);
   EXPECT_EQ(width("16", "16"), wide());
   EXPECT_EQ(width("64", "4"), wide());
}

TEST(SubgroupWidth, ValuesStayInRegisters)
{
   EXPECT_EQ(size_of(shader_of(many_values(4))), wide());
   EXPECT_EQ(size_of(shader_of(many_values(24))), default_subgroup_size);
}

/// They would be lowered twice, in vain.
TEST(SubgroupWidth, ShadersWithSamplesAreNotTriedWide)
{
   CpuFeatures cpu = host_features();
   cpu.target.vector_bits = 512;
   const auto may_be_wide = [&](const char *value) {
      const std::vector<uint32_t> spirv =
         e2e::compile_glsl(std::string(e2e::glsl_header) +
                           std::string("layout(local_size_x = 64) in;\n"
                                       "layout(binding = 0) uniform sampler2D s;\n"
                                       "layout(binding = 1) uniform sampler2DShadow d;\n"
                                       "layout(binding = 2) buffer O { vec4 o[]; };\n"
                                       "void main() { o[gl_LocalInvocationIndex] = vec4(") +
                           value + "); }");
      return may_prefer_wide_subgroups({spirv, "main", {}}, cpu);
   };
   EXPECT_TRUE(may_be_wide("1"));
   for (const char *value :
        {"textureLod(s, vec2(0.5), 0)", "texelFetch(s, ivec2(1), 0)", "textureGather(s, vec2(0.5))",
         "textureLod(d, vec3(0.5), 0)", "textureGather(d, vec2(0.5), 0.5)"})
      EXPECT_FALSE(may_be_wide(value)) << value;
}

TEST(SubgroupWidth, DumpsShowOneSize)
{
   CompileOptions options = widening();
   unsigned count = 0;
   options.dump = [&](const char *phase, const std::string &) {
      count += std::string_view(phase) == "nir_lower_compute_system_values";
   };
   for (const unsigned values : {4u, 24u}) {
      count = 0;
      size_of(shader_of(many_values(values)), options);
      EXPECT_EQ(count, 1u) << values;
   }
}

} // namespace
} // namespace weft::cpu
