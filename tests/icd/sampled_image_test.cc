// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sampled images without a sampler: fetches of texels, queries, null descriptors.

#include "tests/icd/sampling_fixture.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::icd_test {

namespace {

constexpr VkDescriptorType storage_buffer = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;

std::vector<Format> all_formats()
{
   std::vector<Format> formats = texel_formats();
   formats.insert(formats.end(),
                  {
                     {VK_FORMAT_R8G8B8A8_SRGB, "R8G8B8A8_SRGB", fetches},
                     {VK_FORMAT_B8G8R8A8_SRGB, "B8G8R8A8_SRGB", fetches},
                     {VK_FORMAT_A8B8G8R8_SRGB_PACK32, "A8B8G8R8_SRGB_PACK32", fetches},
                     {VK_FORMAT_E5B9G9R9_UFLOAT_PACK32, "E5B9G9R9_UFLOAT_PACK32", fetches},
                     {VK_FORMAT_D16_UNORM, "D16_UNORM", fetches},
                     {VK_FORMAT_D32_SFLOAT, "D32_SFLOAT", fetches},
                     {VK_FORMAT_X8_D24_UNORM_PACK32, "X8_D24_UNORM_PACK32", fetches},
                     {VK_FORMAT_S8_UINT, "R8_UINT", fetches},
                     {VK_FORMAT_D16_UNORM_S8_UINT, "D16_UNORM", fetches},
                     {VK_FORMAT_D24_UNORM_S8_UINT, "X8_D24_UNORM_PACK32", fetches},
                     {VK_FORMAT_D32_SFLOAT_S8_UINT, "D32_SFLOAT", fetches},
                  });
   return formats;
}

} // namespace

class SampledImageTest : public SamplingTest {
protected:
};

TEST_F(SampledImageTest, FetchesOfEachFormat)
{
   constexpr VkExtent3D extent = {45, 6, 1};
   constexpr uint32_t texels = extent.width * extent.height;
   for (const Format &format : all_formats()) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, format.format, &properties);
      if (!(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT)) {
         EXPECT_EQ(format.required, none) << format.name;
         continue;
      }
      const oracle::TexelLayout layout = format.layout();
      EXPECT_EQ(!layout.is_integer(), bool(properties.optimalTilingFeatures &
                                           VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT));
      const TestImage image = make_image(
         {.format = format.format, .extent = extent, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
      TestBuffer before = make_random_buffer(texels * layout.bytes), out = make_buffer(texels * 16);
      fill(image, before);
      const std::string prefix = format.prefix();
      run_with("layout(local_size_x = 45) in;\n"
               "layout(binding = 0) uniform " +
                  prefix +
                  "texture2D image;\n"
                  "layout(binding = 1) buffer Out { " +
                  prefix +
                  "vec4 texels[]; };\n"
                  "void main()\n"
                  "{\n"
                  "   ivec2 p = ivec2(gl_GlobalInvocationID.xy);\n"
                  "   texels[p.y * 45 + p.x] = texelFetch(image, p, 0);\n"
                  "}",
               make_image_view(image, VK_IMAGE_VIEW_TYPE_2D), out, {1, extent.height, 1});
      for (uint32_t i = 0; i < texels; ++i) {
         const auto texel = before.as<std::byte>().subspan(i * layout.bytes, layout.bytes);
         for (uint32_t c = 0; c < 4; ++c)
            ASSERT_TRUE(oracle::reads_as(layout, texel, "RGBA"[c], out.as()[4 * i + c]))
               << format.name << ", " << i;
      }
   }
}

/// The stencils of level 1 and layer 1, beside depths of each kind.
TEST_F(SampledImageTest, StencilsBesideDepths)
{
   for (const VkFormat format :
        {VK_FORMAT_D16_UNORM_S8_UINT, VK_FORMAT_D24_UNORM_S8_UINT, VK_FORMAT_D32_SFLOAT_S8_UINT}) {
      constexpr uint32_t width = 11, height = 7;
      const TestImage image = make_image({.format = format,
                                          .extent = {2 * width, 2 * height, 1},
                                          .levels = 2,
                                          .layers = 2,
                                          .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
      const TestBuffer stencils = make_random_buffer(2 * width * height),
                       depths = make_random_buffer(2 * width * height * 4),
                       out = make_buffer(width * height * 16);
      fill(image, depths, 1);
      VkBufferImageCopy copy = whole_level(image, 1);
      copy.imageSubresource.aspectMask = VK_IMAGE_ASPECT_STENCIL_BIT;
      VkCommandBuffer cmd = begin();
      vkCmdCopyBufferToImage(cmd, stencils.handle, image.handle, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
      run(cmd);
      const VkImageViewCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = image.handle,
         .viewType = VK_IMAGE_VIEW_TYPE_2D,
         .format = format,
         .subresourceRange = {VK_IMAGE_ASPECT_STENCIL_BIT, 0, 2, 1, 1},
      };
      VkImageView view;
      ASSERT_VK(vkCreateImageView(device, &info, nullptr, &view));
      clean_up.push_back([this, view] { vkDestroyImageView(device, view, nullptr); });
      run_with(R"(
         layout(local_size_x = 11) in;
         layout(binding = 0) uniform utexture2D image;
         layout(binding = 1) buffer Out { uvec4 texels[]; };
         void main()
         {
            ivec2 p = ivec2(gl_GlobalInvocationID.xy);
            texels[p.y * 11 + p.x] = texelFetch(image, p, 1);
         })",
               view, out, {1, height, 1});
      for (uint32_t i = 0; i < width * height; ++i) {
         ASSERT_EQ(out.as()[4 * i], stencils.map[width * height + i]) << format << ", " << i;
         ASSERT_EQ(out.as()[4 * i + 1], 0u);
      }
   }
}

/// Beyond the image, its levels and the view is a texel of zeros.
TEST_F(SampledImageTest, FetchesOutOfBounds)
{
   const TestImage image = make_image(
      {.extent = {5, 5, 1}, .levels = 3, .layers = 3, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   TestBuffer ones = make_buffer(300), out = make_buffer(64 * 4);
   for (uint32_t level = 0; level < 3; ++level) {
      std::ranges::fill(ones.as(), 1 + level);
      fill(image, ones, level);
   }
   run_with(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) uniform utexture2DArray image;
      layout(binding = 1) buffer Out { uint texels[]; };
      void main()
      {
         int i = int(gl_LocalInvocationID.x);
         ivec4 places[10] = { ivec4(5, 0, 0, 0), ivec4(0, 5, 0, 0), ivec4(-1, 1, 1, 0),
                              ivec4(1, -1, 1, 0), ivec4(0x40000000, 0, 0, 0), ivec4(0, 0, 2, 0),
                              ivec4(2, 0, 0, 1), ivec4(0, 0, 0, 2), ivec4(0, 0, 0, -1),
                              ivec4(1, 1, 1, 1) };
         ivec4 p = places[i % 10];
         texels[i] = texelFetch(image, p.xyz, p.w).x +
                     texelFetchOffset(image, p.xyz, p.w, ivec2(0, -5)).x;
      })",
            make_image_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 0, 0, 2, 2), out);
   for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(out.as()[i], i % 10 == 9 ? 2u : i % 10 == 1 ? 1u : 0u) << i;
}

/// The same for images of one level in a common format, whose fetches have code of their own.
TEST_F(SampledImageTest, PlainFetchesOutOfBounds)
{
   const TestImage image = make_image({.format = VK_FORMAT_R32_SFLOAT,
                                       .extent = {5, 5, 1},
                                       .layers = 3,
                                       .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   TestBuffer numbers = make_buffer(300), out = make_buffer(64 * 4);
   for (uint32_t i = 0; i < 75; ++i)
      numbers.as<float>()[i] = 1 + float(i);
   fill(image, numbers);
   run_with(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) uniform texture2DArray image;
      layout(binding = 1) buffer Out { float texels[]; };
      void main()
      {
         int i = int(gl_LocalInvocationID.x);
         ivec4 places[10] = { ivec4(5, 0, 0, 0), ivec4(0, 5, 0, 0), ivec4(-1, 1, 1, 0),
                              ivec4(1, -1, 1, 0), ivec4(0x40000000, 0, 0, 0), ivec4(0, 0, 2, 0),
                              ivec4(2, 0, 0, 1), ivec4(0, 0, 0, -1), ivec4(4, 3, 1, 0),
                              ivec4(0, 1, 0, 0) };
         ivec4 p = places[i % 10];
         texels[i] = texelFetch(image, p.xyz, p.w).x;
      })",
            make_image_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 0, 1, 2), out);
   for (uint32_t i = 0; i < 64; ++i) {
      const float second_layer = 1 + 25, expected = i % 10 == 8   ? second_layer + 25 + 3 * 5 + 4
                                                    : i % 10 == 9 ? second_layer + 5
                                                                  : 0;
      EXPECT_EQ(out.as<float>()[i], expected) << i;
   }
}

TEST_F(SampledImageTest, Sizes)
{
   struct Case {
      const SampledKind &kind;
      const char *size;
   };
   const Case cases[] = {
      {kind_1d, "ivec3(textureSize(image, i), 1, 1)"},
      {kind_1d_array, "ivec3(textureSize(image, i).x, 1, textureSize(image, i).y)"},
      {kind_2d, "ivec3(textureSize(image, i), 1)"},
      {kind_2d_array, "textureSize(image, i)"},
      {kind_3d, "textureSize(image, i)"},
      {kind_cube, "ivec3(textureSize(image, i), 6)"},
      {kind_cube_array, "textureSize(image, i) * ivec3(1, 1, 6)"},
   };
   for (const Case &c : cases) {
      const SampledContents contents =
         make_contents(c.kind, {VK_FORMAT_R8_UNORM, "R8_UNORM"}, false);
      TestBuffer out = make_buffer(16 * 8);
      run_with(std::string("layout(local_size_x = 8) in;\n"
                           "layout(binding = 0) uniform texture") +
                  c.kind.type +
                  " image;\n"
                  "layout(binding = 1) buffer Out { ivec4 sizes[8]; };\n"
                  "void main()\n"
                  "{\n"
                  "   int i = int(gl_LocalInvocationID.x);\n"
                  "   sizes[i] = ivec4(" +
                  c.size + ", textureQueryLevels(image));\n}",
               contents.view, out);
      const auto &levels = contents.texels.levels;
      for (uint32_t i = 0; i < levels.size(); ++i) {
         for (uint32_t d = 0; d < 3; ++d)
            EXPECT_EQ(out.as<int32_t>()[4 * i + d], levels[i][d]) << c.kind.type << ", " << i;
         EXPECT_EQ(out.as()[4 * i + 3], levels.size());
      }
   }
}

TEST_F(SampledImageTest, NullDescriptors)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout(
      {binding(0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER), binding(1, storage_buffer)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0) uniform sampler3D image;
      layout(binding = 1) buffer Out { vec4 sampled, fetched; ivec3 size; int levels; };
      void main()
      {
         sampled = textureLod(image, vec3(0.3), 1);
         fetched = texelFetch(image, ivec3(0), 0);
         size = textureSize(image, 0);
         levels = textureQueryLevels(image);
      })",
                                       recipe, layout);
   for (const oracle::Wrap wrap : {oracle::Wrap::repeat, oracle::Wrap::edge}) {
      oracle::SamplerState state = {.magnified_linear = true, .minified_linear = true};
      state.wrap.fill(wrap);
      VkDescriptorSet set = make_set(recipe.sets[0]);
      write_sampled(set, 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, VK_NULL_HANDLE,
                    make_sampler(state, VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK));
      TestBuffer out = make_buffer(48);
      memset(out.map, 0xa5, 48);
      write_buffer(set, 1, storage_buffer, out);
      bind_and_run(layout, pipeline, set);
      for (uint32_t word : out.as())
         EXPECT_EQ(word, 0u);
   }
}

TEST_F(SampledImageTest, ImagesHaveOneSampleAndOneDescriptor)
{
   VkImageFormatProperties properties;
   ASSERT_VK(vkGetPhysicalDeviceImageFormatProperties(physical, VK_FORMAT_R8G8B8A8_UNORM,
                                                      VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
                                                      VK_IMAGE_USAGE_SAMPLED_BIT, 0, &properties));
   EXPECT_EQ(properties.sampleCounts, VkSampleCountFlags(VK_SAMPLE_COUNT_1_BIT));
   VkSamplerYcbcrConversionImageFormatProperties descriptors = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES};
   VkImageFormatProperties2 properties2 = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                           .pNext = &descriptors};
   const VkPhysicalDeviceImageFormatInfo2 info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
      .format = VK_FORMAT_R8G8B8A8_UNORM,
      .type = VK_IMAGE_TYPE_2D,
      .usage = VK_IMAGE_USAGE_SAMPLED_BIT,
   };
   ASSERT_VK(vkGetPhysicalDeviceImageFormatProperties2(physical, &info, &properties2));
   EXPECT_EQ(descriptors.combinedImageSamplerDescriptorCount, 1u);
}

/// VK_EXT_image_sliced_view_of_3d: some slices of a level are a storage image. All of them are
/// sampled.
TEST_F(SampledImageTest, SlicedViews)
{
   constexpr uint32_t side = 8, depth = 6, words = side * side * depth;
   const TestImage image =
      make_image({.type = VK_IMAGE_TYPE_3D,
                  .extent = {2 * side, 2 * side, 2 * depth},
                  .levels = 2,
                  .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT});
   const TestBuffer before = make_random_buffer(words * 4), after = make_buffer(words * 4);
   fill(image, before, 1);
   const VkImageViewSlicedCreateInfoEXT slices = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_SLICED_CREATE_INFO_EXT,
      .sliceOffset = 2,
      .sliceCount = 3,
   };
   const VkImageView view = make_image_view(image, VK_IMAGE_VIEW_TYPE_3D, 1, 0, 1, 1, {}, &slices);
   // Stores to the slices before and behind the view have no effect.
   run_shader(R"(
      layout(local_size_x = 8, local_size_y = 8) in;
      layout(binding = 0, r32ui) uniform uimage3D image;
      void main()
      {
         ivec3 p = ivec3(gl_GlobalInvocationID) - ivec3(0, 0, 3);
         uint old = imageLoad(image, p).x;
         imageStore(image, p, uvec4(old + imageSize(image).z));
      })",
              {view}, {}, {1, 1, 9});
   read_back(image, after, 1);
   for (uint32_t i = 0; i < words; ++i) {
      const uint32_t z = i / (side * side);
      ASSERT_EQ(after.as()[i], before.as()[i] + (z >= 2 && z < 5 ? 3 : 0)) << i;
   }

   const TestBuffer sampled = make_buffer(8);
   run_with(R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) uniform utexture3D image;
      layout(binding = 1) buffer Out { uint data[]; };
      void main()
      {
         data[0] = textureSize(image, 0).z;
         data[1] = texelFetch(image, ivec3(1, 2, 5), 0).x;
      })",
            view, sampled);
   EXPECT_EQ(sampled.as()[0], depth);
   EXPECT_EQ(sampled.as()[1], after.as()[1 + 2 * side + 5 * side * side]);
}

} // namespace weft::icd_test
