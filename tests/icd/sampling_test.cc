// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Functions of shaders that sample images.

#include "tests/icd/sampling_fixture.h"

#include <limits>

namespace weft::icd_test {

namespace {

std::string call(const SampledKind &kind, const std::string &name, const std::string &rest)
{
   return name + "(image, " + kind.coordinates + rest + ")";
}

} // namespace

TEST_F(SamplingTest, TextureLod)
{
   for (const SampledKind *kind : {&kind_1d, &kind_1d_array, &kind_2d, &kind_2d_array, &kind_3d})
      check(*kind, {call(*kind, "textureLod", ", more.x")}, filtered_formats(), 27);
}

TEST_F(SamplingTest, PlainReads)
{
   for (const SampledKind *kind : {&kind_1d, &kind_1d_array, &kind_2d, &kind_2d_array, &kind_3d})
      check(*kind, {.expression = call(*kind, "textureLod", ", more.x"), .is_plain = true},
            plain_formats(), 32);
}

TEST_F(SamplingTest, TextureLodOfCubes)
{
   for (const SampledKind *kind : {&kind_cube, &kind_cube_array})
      check(*kind, {call(*kind, "textureLod", ", more.x")}, filtered_formats(), 27);
}

TEST_F(SamplingTest, CompressedImages)
{
   for (const SampledKind *kind :
        {&kind_2d, &kind_2d_array, &kind_3d, &kind_cube, &kind_cube_array})
      check(*kind, {call(*kind, "textureLod", ", more.x")}, compressed_formats(), 32);
}

TEST_F(SamplingTest, GathersOfCompressedImages)
{
   for (int c = 0; c < 4; ++c)
      check(kind_2d,
            {.expression = call(kind_2d, "textureGather", ", " + std::to_string(c)), .gathered = c},
            compressed_formats(), 16);
}

TEST_F(SamplingTest, Integers)
{
   for (const SampledKind *kind : {&kind_2d, &kind_3d, &kind_cube})
      check(*kind, {call(*kind, "textureLod", ", more.x")}, integer_formats());
}

/// Without derivatives, the level of detail is 0.
TEST_F(SamplingTest, Texture)
{
   for (const SampledKind *kind : {&kind_1d, &kind_2d_array, &kind_3d, &kind_cube_array})
      check(*kind, {.expression = call(*kind, "texture", ""), .has_lod = false},
            filtered_formats());
}

TEST_F(SamplingTest, Projections)
{
   check(kind_2d, {"textureProjLod(image, vec3(at.xy, 1) * (more.y < 0 ? -4.0 : 2.0), more.x)"},
         filtered_formats());
}

TEST_F(SamplingTest, CoordinatesOfTexels)
{
   for (const SampledKind *kind : {&kind_1d, &kind_2d})
      check(
         *kind,
         {.expression = call(*kind, "textureLod", ", 0"), .has_lod = false, .unnormalized = true},
         filtered_formats());
}

TEST_F(SamplingTest, Offsets)
{
   check(kind_1d, {.expression = "textureLodOffset(image, at.x, more.x, -5)", .offset = {-5}},
         filtered_formats());
   check(kind_2d_array,
         {.expression = "textureLodOffset(image, at.xyw, more.x, ivec2(3, -8))", .offset = {3, -8}},
         filtered_formats(), 27);
   check(kind_3d,
         {.expression = "textureLodOffset(image, at.xyz, more.x, ivec3(-1, 2, 7))",
          .offset = {-1, 2, 7}},
         filtered_formats());
}

/// The longer gradient covers 2^lod texels of level 0.
TEST_F(SamplingTest, Gradients)
{
   check(kind_1d, {"textureGrad(image, at.x, exp2(more.x) / float(textureSize(image, 0)), 0.0)"},
         filtered_formats());
   check(kind_2d,
         {"textureGrad(image, at.xy, vec2(0, exp2(more.x - 1)) / vec2(textureSize(image, 0)), "
          "vec2(exp2(more.x), 0) / vec2(textureSize(image, 0)))"},
         filtered_formats(), 27);
   check(kind_3d,
         {"textureGrad(image, at.xyz, vec3(0, 0, exp2(more.x)) / vec3(textureSize(image, 0)), "
          "vec3(0))"},
         filtered_formats());
}

/// The ratio of the gradients is the number of probes.
TEST_F(SamplingTest, Anisotropy)
{
   const auto grad = [](const SampledKind &kind, const char *vector) {
      return SampledFunction{
         .expression = call(kind, "textureGrad", std::string(", dx.") + vector + ", dy." + vector),
         .has_lod = false,
         .has_gradients = true};
   };
   for (const SampledKind *kind : {&kind_2d, &kind_2d_array})
      check(*kind, grad(*kind, "xy"), filtered_formats(), 36);
   for (const SampledKind *kind : {&kind_1d, &kind_1d_array})
      check(*kind, grad(*kind, "x"), filtered_formats(), 18);
   for (const SampledKind *kind : {&kind_3d, &kind_cube, &kind_cube_array})
      check(*kind, grad(*kind, "xyz"), filtered_formats(), 18);
   check(kind_2d, grad(kind_2d, "xy"), integer_formats(), 6);
}

TEST_F(SamplingTest, AnisotropyOfOtherFunctions)
{
   check(kind_2d,
         {.expression = "textureGradOffset(image, at.xy, dx.xy, dy.xy, ivec2(3, -8))",
          .offset = {3, -8},
          .has_lod = false,
          .has_gradients = true},
         filtered_formats());
   check(kind_2d,
         {.expression = "textureGrad(image, vec3(at.xy, more.y), dx.xy, dy.xy)",
          .compares = true,
          .has_lod = false,
          .has_gradients = true},
         depth_formats());
}

TEST_F(SamplingTest, Comparisons)
{
   check(kind_1d,
         {.expression = "textureLod(image, vec3(at.x, 0, more.y), more.x)", .compares = true},
         depth_formats());
   check(kind_2d,
         {.expression = "textureLod(image, vec3(at.xy, more.y), more.x)", .compares = true},
         depth_formats(), 30);
   check(kind_2d_array,
         {.expression = "texture(image, vec4(at.xyw, more.y))", .compares = true, .has_lod = false},
         depth_formats());
   check(kind_cube,
         {.expression = "texture(image, vec4(at.xyz, more.y))", .compares = true, .has_lod = false},
         depth_formats());
   check(kind_cube_array,
         {.expression = "texture(image, at, more.y)", .compares = true, .has_lod = false},
         depth_formats());
}

TEST_F(SamplingTest, Depths)
{
   check(kind_2d, {call(kind_2d, "textureLod", ", more.x")}, depth_formats());
}

TEST_F(SamplingTest, Gathers)
{
   for (int c = 0; c < 4; ++c) {
      check(kind_2d,
            {.expression = call(kind_2d, "textureGather", ", " + std::to_string(c)), .gathered = c},
            filtered_formats());
      check(kind_cube_array,
            {.expression = call(kind_cube_array, "textureGather", ", " + std::to_string(c)),
             .gathered = c},
            filtered_formats());
   }
   check(kind_2d_array,
         {.expression = "textureGatherOffset(image, at.xyw, ivec2(int(more.x * 0) - 7, 5), 1)",
          .gathered = 1,
          .offset = {-7, 5}},
         filtered_formats());
   check(kind_2d, {.expression = call(kind_2d, "textureGather", ", 2"), .gathered = 2},
         integer_formats());
   check(kind_2d,
         {.expression = "textureGather(image, at.xy, more.y)", .compares = true, .gathered = 0},
         depth_formats());
}

/// At the middle of a texel, its neighbours have no weight, even if they are infinite.
TEST_F(SamplingTest, TexelsWithoutWeight)
{
   const TestImage image = make_image(
      {.format = VK_FORMAT_R32_SFLOAT, .extent = {2, 2, 1}, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   constexpr float infinity = std::numeric_limits<float>::infinity();
   const float texels[] = {3, infinity, -infinity, infinity};
   fill(image, make_buffer(sizeof(texels), texels));
   const VkImageView view = make_image_view(image, VK_IMAGE_VIEW_TYPE_2D);
   const char *glsl = R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) uniform sampler2D image;
      layout(binding = 1) buffer Out { float result; };
      void main() { result = textureLod(image, vec2(0.25), 0).x; })";
   for (const oracle::Reduce reduce :
        {oracle::Reduce::average, oracle::Reduce::least, oracle::Reduce::largest}) {
      const oracle::SamplerState state = {.magnified_linear = true, .reduce = reduce};
      const TestBuffer out = make_buffer(4);
      run_with(glsl, view, out, {1, 1, 1}, make_sampler(state, VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK));
      EXPECT_EQ(out.as<float>()[0], 3.0f) << int(reduce);
   }
}

/// Every byte, in a row of its own, which is sampled between its texels.
TEST_F(SamplingTest, MeansOfEqualTexelsAreTheTexel)
{
   constexpr uint32_t width = 3, rows = 256;
   const char *glsl = R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) uniform SAMPLER image;
      layout(binding = 1) buffer Out { uint differences; };
      void main()
      {
         int row = int(gl_GlobalInvocationID.x);
         for (int i = 0; i < 50; i++) {
            vec3 at = vec3(float(i * i) / 2500, (float(row) + 0.5) / 256, 0.5);
            vec4 mean = textureLod(image, AT, 0), texel = texelFetch(image, TEXEL, 0);
            if (mean != texel)
               atomicAdd(differences, 1);
         }
      })";
   std::vector<uint32_t> texels;
   for (uint32_t i = 0; i < rows * width; ++i)
      texels.push_back(i / width * 0x01010101);
   for (const bool is_3d : {false, true}) {
      const TestImage image = make_image({.format = VK_FORMAT_R8G8B8A8_UNORM,
                                          .type = is_3d ? VK_IMAGE_TYPE_3D : VK_IMAGE_TYPE_2D,
                                          .extent = {width, rows, 1},
                                          .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
      fill(image, make_buffer(texels.size() * sizeof(texels[0]), texels.data()));
      const std::string defined = is_3d ? "#define SAMPLER sampler3D\n#define AT at\n"
                                          "#define TEXEL ivec3(0, row, 0)\n"
                                        : "#define SAMPLER sampler2D\n#define AT at.xy\n"
                                          "#define TEXEL ivec2(0, row)\n";
      const TestBuffer out = make_buffer(4);
      out.as<uint32_t>()[0] = 0;
      run_with(defined + glsl,
               make_image_view(image, is_3d ? VK_IMAGE_VIEW_TYPE_3D : VK_IMAGE_VIEW_TYPE_2D), out,
               {rows / 64, 1, 1},
               make_sampler({.magnified_linear = true, .minified_linear = true},
                            VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK));
      EXPECT_EQ(out.as<uint32_t>()[0], 0u) << (is_3d ? "3D" : "2D");
   }
}

/// Means of normalized numbers stay in their range, although weights are rounded: in code for the
/// usual samplers (repeat) and in code for all (mirror).
TEST_F(SamplingTest, MeansOfNormalizedNumbersAreAtMostOne)
{
   const TestImage image = make_image(
      {.format = VK_FORMAT_R8_UNORM, .extent = {4, 4, 1}, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   const std::vector<uint8_t> texels(16, 255);
   fill(image, make_buffer(16, texels.data()));
   const VkImageView view = make_image_view(image, VK_IMAGE_VIEW_TYPE_2D);
   const char *glsl = R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) uniform sampler2D image;
      layout(binding = 1) buffer Out { vec4 results[4096]; };
      void main()
      {
         vec2 least = vec2(1), largest = vec2(0);
         for (uint i = 1; i <= 64; i++) {
            uint number = gl_GlobalInvocationID.x * 64 + i;
            vec2 at = vec2(float(number) * 4.5e-6, float(bitfieldReverse(number)) * 3.7e-10);
            vec2 result = textureLod(image, at, 0).xw;
            least = min(least, result), largest = max(largest, result);
         }
         results[gl_GlobalInvocationID.x] = vec4(least, largest);
      })";
   for (const oracle::Wrap wrap : {oracle::Wrap::repeat, oracle::Wrap::mirror}) {
      const oracle::SamplerState state = {
         .magnified_linear = true, .minified_linear = true, .wrap = {wrap, wrap, wrap}};
      const TestBuffer out = make_buffer(4096 * 16);
      run_with(glsl, view, out, {64, 1, 1},
               make_sampler(state, VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK));
      for (const float result : out.as<float>()) {
         ASSERT_LE(result, 1.0f) << int(wrap);
         ASSERT_GE(result, 1.0f - 0x1p-20f) << int(wrap);
      }
   }
}

} // namespace weft::icd_test
