// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sampled images that become buffers. The tests of the driver compare results with the oracle.

#include "nir_passes/images/lower_sampling.h"

#include "nir_passes/images/texel_descriptor.h"
#include "nir_passes/workgroups/lower_derivatives.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

constexpr BindingLayout sampling_bindings[] = {
   {0, 0, 0, 0, sizeof(CombinedDescriptor), 1, false},
   {0, 1, 0, 192, sizeof(SampledImageDescriptor), 1, false},
   {0, 2, 0, 320, sizeof(CombinedDescriptor), 1, false},
   {0, 3, 0, 512, 16, 1, false},
};

/// A shader that stores `value`.
std::string shader_of(const std::string &type, const std::string &value)
{
   return "#extension GL_EXT_samplerless_texture_functions : require\n"
          "layout(binding = 0) uniform " +
          type +
          " image;\n"
          "layout(binding = 1) uniform texture2D separate;\n"
          "layout(binding = 2) uniform sampler own;\n"
          "layout(binding = 3) buffer B { vec4 x; };\n"
          "void main() { x = vec4(" +
          value + "); }";
}

Result<bool> lower(nir_shader *nir, bool may_have_tiles)
{
   const nir_lower_tex_options projections = projection_options(), options = sampling_options();
   nir_lower_tex(nir, &projections);
   lower_derivatives(nir);
   nir_lower_tex(nir, &options);
   return lower_sampling(nir, sampling_bindings, may_have_tiles);
}

void expect_no_texture_instruction(const std::string &glsl)
{
   for (const bool may_have_tiles : {false, true}) {
      Shader shader = test::translate(glsl, Consumer::cpu, 32);
      const Result<bool> result = lower(shader.get(), may_have_tiles);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_TRUE(*result);
      nir_validate_shader(shader.get(), glsl.c_str());
      nir_foreach_block(block, nir_shader_get_entrypoint(shader.get())) {
         nir_foreach_instr(instr, block) {
            EXPECT_NE(instr->type, nir_instr_type_tex) << glsl;
         }
      }
   }
}

TEST(LowerSampling, NoTextureInstructionRemains)
{
   const std::pair<const char *, const char *> cases[] = {
      {"sampler2D", "textureLod(image, vec2(x), x.z)"},
      {"sampler2D", "textureProjLod(image, x.xyz, x.z)"},
      {"sampler3D", "textureGrad(image, x.xyz, x.xxx, x.yyy)"},
      {"samplerCube", "textureGrad(image, x.xyz, x.xxx, x.yyy)"},
      {"sampler1DArray", "textureLodOffset(image, x.xy, x.z, 3)"},
      {"samplerCubeArrayShadow", "texture(image, x, x.y)"},
      {"sampler2DArray",
       "textureGatherOffsets(image, x.xyz, ivec2[](ivec2(1), ivec2(2), ivec2(3), ivec2(4)), 1)"},
      {"sampler2D", "texelFetchOffset(image, ivec2(x), 2, ivec2(1))"},
      {"sampler2D", "textureSize(image, int(x.x)).xyxy * textureQueryLevels(image)"},
      {"sampler2D", "textureLod(sampler2D(separate, own), vec2(x), x.z)"},
   };
   for (const auto &[type, value] : cases)
      expect_no_texture_instruction(shader_of(type, value));
}

TEST(LowerSampling, ResidencyIsTheLastComponent)
{
   const std::pair<const char *, const char *> cases[] = {
      {"sampler2D", "sparseTextureLodARB(image, x.xy, x.z, texel)"},
      {"samplerCubeArray", "sparseTextureARB(image, x, texel)"},
      {"sampler2D", "sparseTexelFetchARB(image, ivec2(x.xy), 1, texel)"},
      {"sampler2DArray", "sparseTextureGatherOffsetsARB(image, x.xyz, ivec2[](ivec2(1), ivec2(2), "
                         "ivec2(3), ivec2(4)), texel, 1)"},
   };
   for (const auto &[type, call] : cases) {
      std::string glsl = shader_of(type, "find()");
      const std::string function = std::string("vec4 find() { vec4 texel; const int code = ") +
                                   call +
                                   "; return sparseTexelsResidentARB(code) ? texel : vec4(0); }\n";
      glsl.insert(glsl.find("void main"), function);
      expect_no_texture_instruction("#extension GL_ARB_sparse_texture2 : require\n" + glsl);
   }
}

TEST(LowerSampling, ImplicitLevels)
{
   const std::pair<const char *, const char *> cases[] = {
      {"sampler2D", "texture(image, vec2(x), x.z)"},
      {"sampler2D", "textureProj(image, x)"},
      {"samplerCubeArray", "texture(image, x)"},
      {"sampler2DArrayShadow", "texture(image, x)"},
      {"sampler2DArray", "textureQueryLod(image, x.xy).xyxy"},
      {"samplerCube", "textureQueryLod(image, x.xyz).xyxy"},
   };
   for (const auto &[type, value] : cases) {
      expect_no_texture_instruction("#extension GL_NV_compute_shader_derivatives : require\n"
                                    "layout(derivative_group_linearNV) in;\n" +
                                    shader_of(type, value));
   }
}

TEST(LowerSampling, TexelBuffersAreLeft)
{
   Shader shader =
      test::translate(shader_of("samplerBuffer", "texelFetch(image, int(x.x))"), Consumer::cpu, 32);
   const Result<bool> result = lower(shader.get(), false);
   ASSERT_TRUE(result);
   EXPECT_FALSE(*result);
}

TEST(LowerSampling, OthersAreRefused)
{
   const auto error_of = [](const std::string &glsl) {
      Shader shader = test::translate(glsl, Consumer::cpu, 32);
      const Result<bool> result = lower(shader.get(), false);
      return result ? "" : result.error().message;
   };
   EXPECT_EQ(error_of("layout(binding = 3) uniform sampler2D image;\n"
                      "layout(binding = 0) buffer B { vec4 x; };\n"
                      "void main() { x = textureLod(image, vec2(0), 0); }"),
             "the binding 3 of the descriptor set 0 is not a sampled image");
   EXPECT_EQ(error_of("layout(binding = 1) uniform sampler2D image;\n"
                      "layout(binding = 3) buffer B { vec4 x; };\n"
                      "void main() { x = textureLod(image, vec2(0), 0); }"),
             "the binding 1 of the descriptor set 0 is not a sampler");
   EXPECT_EQ(error_of("layout(binding = 7) uniform sampler2D image;\n"
                      "layout(binding = 3) buffer B { vec4 x; };\n"
                      "void main() { x = textureLod(image, vec2(0), 0); }"),
             "the shader uses the binding 7 of the descriptor set 0, which the pipeline layout "
             "lacks");
}

} // namespace
} // namespace weft
