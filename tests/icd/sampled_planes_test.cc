// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images of several planes: copied by planes, viewed by planes, and sampled with conversions.

#include "tests/icd/descriptor_buffer_fixture.h"
#include "tests/icd/sampling_fixture.h"
#include "tests/oracle/ycbcr.h"

#include <algorithm>
#include <cmath>

namespace weft::icd_test {

namespace {

struct PlanarFormat {
   VkFormat format;
   int planes, bytes; ///< bytes of a component
   std::array<int, 2> scale;
};

const PlanarFormat planar_formats[] = {
   {VK_FORMAT_G8_B8R8_2PLANE_420_UNORM, 2, 1, {2, 2}},
   {VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM, 3, 1, {2, 2}},
   {VK_FORMAT_G8_B8R8_2PLANE_422_UNORM, 2, 1, {2, 1}},
   {VK_FORMAT_G8_B8_R8_3PLANE_422_UNORM, 3, 1, {2, 1}},
   {VK_FORMAT_G16_B16R16_2PLANE_420_UNORM, 2, 2, {2, 2}},
   {VK_FORMAT_G16_B16_R16_3PLANE_420_UNORM, 3, 2, {2, 2}},
   {VK_FORMAT_G16_B16R16_2PLANE_422_UNORM, 2, 2, {2, 1}},
   {VK_FORMAT_G16_B16_R16_3PLANE_422_UNORM, 3, 2, {2, 1}},
};

constexpr VkImageAspectFlagBits plane_aspects[] = {
   VK_IMAGE_ASPECT_PLANE_0_BIT, VK_IMAGE_ASPECT_PLANE_1_BIT, VK_IMAGE_ASPECT_PLANE_2_BIT};

constexpr uint32_t lookups = 64;

/// A conversion that changes no color.
const oracle::YcbcrConversion unchanged = {
   oracle::YcbcrModel::rgb_identity, false, {false, false}, false, false, false, 8};

/// Reads three images that may have conversions, and a plain one behind them.
constexpr const char *three_and_a_plain_one = R"(
      layout(local_size_x = 1) in;
      layout(binding = 0) buffer Out { vec4 results[]; };
      layout(binding = 1) uniform sampler2D images[3];
      layout(binding = 2) uniform sampler2D plain;
      void main()
      {
         results[0] = textureLod(images[0], vec2(0), 0);
         results[1] = textureLod(images[1], vec2(0), 0);
         results[2] = textureLod(images[2], vec2(0), 0);
         results[3] = textureLod(plain, vec2(0), 0);
      })";

class SampledPlanesTest : public SamplingTest {
protected:
   struct Planes {
      PlanarFormat format;
      TestImage image;
      std::vector<TestBuffer> data;

      VkExtent3D extent(int plane) const
      {
         const VkExtent3D &e = image.recipe.extent;
         return plane == 0 ? e
                           : VkExtent3D{e.width / uint32_t(format.scale[0]),
                                        e.height / uint32_t(format.scale[1]), 1};
      }
      int components(int plane) const { return plane == 1 && format.planes == 2 ? 2 : 1; }
      VkBufferImageCopy whole(int plane) const
      {
         return {.imageSubresource = {VkImageAspectFlags(plane_aspects[plane]), 0, 0, 1},
                 .imageExtent = extent(plane)};
      }
      /// R, G, B are 0, 1, 2.
      double value(int component, int x, int y) const
      {
         const int plane = component == 1 ? 0 : component == 2 || format.planes == 2 ? 1 : 2;
         const int number = component == 0 && format.planes == 2 ? 1 : 0;
         const size_t at =
            (size_t(y) * extent(plane).width + size_t(x)) * size_t(components(plane)) +
            size_t(number);
         return format.bytes == 1 ? data[plane].as<uint8_t>()[at] / 255.0
                                  : data[plane].as<uint16_t>()[at] / 65535.0;
      }
   };

   Planes make_planes(const PlanarFormat &format)
   {
      Planes planes = {format, {}, {}};
      const auto even = [&](uint32_t limit) { return 2 + 2 * uint32_t(random() % limit); };
      planes.image = make_image({.format = format.format,
                                 .extent = {even(12), even(9), 1},
                                 .flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT,
                                 .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
      VkCommandBuffer cmd = begin();
      for (int p = 0; p < format.planes; ++p) {
         const VkExtent3D e = planes.extent(p);
         planes.data.push_back(make_random_buffer(VkDeviceSize(e.width) * e.height *
                                                  planes.components(p) * format.bytes));
         const VkBufferImageCopy copy = planes.whole(p);
         vkCmdCopyBufferToImage(cmd, planes.data[p].handle, planes.image.handle,
                                VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
      }
      run(cmd);
      return planes;
   }

   VkImageView make_view(const TestImage &image, VkImageAspectFlags aspect, VkFormat format,
                         const void *next, uint32_t first = 0, uint32_t layers = 1)
   {
      const VkImageViewCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
                                          .pNext = next,
                                          .image = image.handle,
                                          .viewType = layers > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY
                                                                 : VK_IMAGE_VIEW_TYPE_2D,
                                          .format = format,
                                          .subresourceRange = {aspect, 0, 1, first, layers}};
      VkImageView view = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateImageView(device, &info, nullptr, &view));
      clean_up.push_back([this, view] { vkDestroyImageView(device, view, nullptr); });
      return view;
   }

   oracle::YcbcrConversion random_conversion(const PlanarFormat &format)
   {
      const auto coin = [&] { return random() % 2 == 0; };
      return {.model = oracle::YcbcrModel(random() % 5),
              .is_narrow = coin(),
              .is_cosited = {coin(), coin()},
              .swaps = coin(),
              .has_no_alpha = random() % 4 == 0,
              .is_linear = coin(),
              .bits = 8 * format.bytes};
   }

   VkSamplerYcbcrConversion make_conversion(VkFormat format, const oracle::YcbcrConversion &c)
   {
      const auto location = [](bool is_cosited) {
         return is_cosited ? VK_CHROMA_LOCATION_COSITED_EVEN : VK_CHROMA_LOCATION_MIDPOINT;
      };
      const VkSamplerYcbcrConversionCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO,
         .format = format,
         .ycbcrModel = VkSamplerYcbcrModelConversion(c.model),
         .ycbcrRange = VkSamplerYcbcrRange(c.is_narrow),
         .components = {c.swaps ? VK_COMPONENT_SWIZZLE_B : VK_COMPONENT_SWIZZLE_IDENTITY,
                        VK_COMPONENT_SWIZZLE_IDENTITY,
                        c.swaps ? VK_COMPONENT_SWIZZLE_R : VK_COMPONENT_SWIZZLE_IDENTITY,
                        c.has_no_alpha ? VK_COMPONENT_SWIZZLE_ZERO : VK_COMPONENT_SWIZZLE_IDENTITY},
         .xChromaOffset = location(c.is_cosited[0]),
         .yChromaOffset = location(c.is_cosited[1]),
         .chromaFilter = VkFilter(c.is_linear),
      };
      VkSamplerYcbcrConversion conversion = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateSamplerYcbcrConversion(device, &info, nullptr, &conversion));
      clean_up.push_back(
         [this, conversion] { vkDestroySamplerYcbcrConversion(device, conversion, nullptr); });
      return conversion;
   }

   VkSampler make_converting_sampler(bool is_linear, const void *next)
   {
      const VkSamplerCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
                                        .pNext = next,
                                        .magFilter = VkFilter(is_linear),
                                        .minFilter = VkFilter(is_linear),
                                        .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                        .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
                                        .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE};
      VkSampler sampler = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateSampler(device, &info, nullptr, &sampler));
      clean_up.push_back([this, sampler] { vkDestroySampler(device, sampler, nullptr); });
      return sampler;
   }

   /// Coordinates of nearest texels lie between the 32nd parts of texels, so that no rounding
   /// reaches another texel, of a luma or of a chroma.
   float coordinate(bool is_linear, uint32_t size)
   {
      if (is_linear)
         return float(random() % (1 << 20)) / (1 << 19) - 0.5f;
      return float(int(random() % (32 * (size + 4))) - 64 + 0.5) / 32 / float(size);
   }
};

} // namespace

TEST_F(SampledPlanesTest, FormatsHaveLocationsOfChromas)
{
   for (const PlanarFormat &f : planar_formats) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, f.format, &properties);
      constexpr VkFormatFeatureFlags needed =
         VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
         VK_FORMAT_FEATURE_TRANSFER_DST_BIT | VK_FORMAT_FEATURE_COSITED_CHROMA_SAMPLES_BIT |
         VK_FORMAT_FEATURE_MIDPOINT_CHROMA_SAMPLES_BIT |
         VK_FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER_BIT;
      EXPECT_EQ(properties.optimalTilingFeatures & needed, needed) << f.format;
      EXPECT_EQ(properties.bufferFeatures, 0u);
      EXPECT_FALSE(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_DISJOINT_BIT);

      VkSamplerYcbcrConversionImageFormatProperties count = {
         .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES};
      VkImageFormatProperties2 limits = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
                                         .pNext = &count};
      VkPhysicalDeviceImageFormatInfo2 info = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
         .format = f.format,
         .type = VK_IMAGE_TYPE_2D,
         .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
      EXPECT_VK(vkGetPhysicalDeviceImageFormatProperties2(physical, &info, &limits));
      EXPECT_EQ(limits.imageFormatProperties.maxMipLevels, 1u);
      EXPECT_EQ(limits.imageFormatProperties.maxArrayLayers, 2048u);
      EXPECT_GE(count.combinedImageSamplerDescriptorCount, 1u);
      info.usage = VK_IMAGE_USAGE_STORAGE_BIT;
      EXPECT_EQ(vkGetPhysicalDeviceImageFormatProperties2(physical, &info, &limits),
                VK_ERROR_FORMAT_NOT_SUPPORTED);
   }
   // Without a feature of its own, a format has no planes.
   VkFormatProperties properties;
   vkGetPhysicalDeviceFormatProperties(physical, VK_FORMAT_G8_B8R8_2PLANE_444_UNORM, &properties);
   EXPECT_EQ(properties.optimalTilingFeatures, 0u);
}

TEST_F(SampledPlanesTest, Copies)
{
   for (const PlanarFormat &f : planar_formats) {
      const Planes planes = make_planes(f), other = make_planes(f);
      for (int p = 0; p < f.planes; ++p) {
         const size_t bytes = planes.data[p].as<uint8_t>().size();
         const VkBufferImageCopy whole = planes.whole(p);
         // A plane becomes a color, and that a plane of another image.
         const VkFormat formats[2][2] = {{VK_FORMAT_R8_UNORM, VK_FORMAT_R8G8_UNORM},
                                         {VK_FORMAT_R16_UNORM, VK_FORMAT_R16G16_UNORM}};
         const TestImage color =
            make_image({.format = formats[f.bytes - 1][planes.components(p) - 1],
                        .extent = planes.extent(p),
                        .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
         const Planes target = {f, make_image(planes.image.recipe), {}};
         const VkImageSubresourceLayers color_layers = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
         const VkImageCopy to_color = {.srcSubresource = whole.imageSubresource,
                                       .dstSubresource = color_layers,
                                       .extent = planes.extent(p)};
         const VkImageCopy to_plane = {.srcSubresource = color_layers,
                                       .dstSubresource = whole.imageSubresource,
                                       .extent = planes.extent(p)};
         TestBuffer first = make_buffer(bytes), second = make_buffer(bytes);
         VkCommandBuffer cmd = begin();
         constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
         vkCmdCopyImageToBuffer(cmd, planes.image.handle, general, first.handle, 1, &whole);
         vkCmdCopyImage(cmd, planes.image.handle, general, color.handle, general, 1, &to_color);
         const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                          .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                          .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT};
         const auto wait = [&] {
            vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                 VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &barrier, 0, nullptr, 0,
                                 nullptr);
         };
         wait();
         vkCmdCopyImage(cmd, color.handle, general, target.image.handle, general, 1, &to_plane);
         wait();
         vkCmdCopyImageToBuffer(cmd, target.image.handle, general, second.handle, 1, &whole);
         run(cmd);
         EXPECT_TRUE(std::ranges::equal(first.as<uint8_t>(), planes.data[p].as<uint8_t>()))
            << f.format << ", plane " << p;
         EXPECT_TRUE(std::ranges::equal(second.as<uint8_t>(), planes.data[p].as<uint8_t>()))
            << f.format << ", plane " << p;
      }
   }
}

TEST_F(SampledPlanesTest, ViewsOfPlanes)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE),
                                   binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(R"(
      #extension GL_EXT_samplerless_texture_functions : require
      layout(local_size_x = 1) in;
      layout(binding = 0) uniform texture2D image;
      layout(binding = 1) buffer Out { uvec2 size; vec2 last; };
      void main()
      {
         size = uvec2(textureSize(image, 0));
         last = texelFetch(image, ivec2(size) - 1, 0).xy;
      })",
                                       recipe, layout);
   for (const PlanarFormat &f : planar_formats) {
      const Planes planes = make_planes(f);
      for (int p = 0; p < f.planes; ++p) {
         const bool two = planes.components(p) == 2;
         const VkFormat format = f.bytes == 1
                                    ? (two ? VK_FORMAT_R8G8_UNORM : VK_FORMAT_R8_UNORM)
                                    : (two ? VK_FORMAT_R16G16_UNORM : VK_FORMAT_R16_UNORM);
         VkDescriptorSet set = make_set(recipe.sets[0]);
         write_sampled(set, 0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                       make_view(planes.image, plane_aspects[p], format, nullptr), VK_NULL_HANDLE);
         TestBuffer out = make_buffer(16);
         write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
         bind_and_run(layout, pipeline, set);
         const VkExtent3D e = planes.extent(p);
         EXPECT_EQ(out.as()[0], e.width);
         EXPECT_EQ(out.as()[1], e.height);
         const int component = p == 0 ? 1 : p == 1 ? 2 : 0;
         EXPECT_NEAR(out.as<float>()[2],
                     planes.value(component, int(e.width) - 1, int(e.height) - 1), 1e-6);
         EXPECT_NEAR(out.as<float>()[3],
                     two ? planes.value(0, int(e.width) - 1, int(e.height) - 1) : 0, 1e-6);
      }
   }
}

TEST_F(SampledPlanesTest, Conversions)
{
   // The code does not depend on the conversion.
   const VkPipelineCacheCreateInfo cache_info = {.sType =
                                                    VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
   VkPipelineCache cache = VK_NULL_HANDLE;
   ASSERT_VK(vkCreatePipelineCache(device, &cache_info, nullptr, &cache));
   clean_up.push_back([this, cache] { vkDestroyPipelineCache(device, cache, nullptr); });
   for (unsigned round = 0; round < 8 * std::size(planar_formats); ++round) {
      const PlanarFormat &f = planar_formats[round % std::size(planar_formats)];
      const Planes planes = make_planes(f);
      const oracle::YcbcrConversion c = random_conversion(f);
      const VkSamplerYcbcrConversionInfo chained = {
         .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO,
         .conversion = make_conversion(f.format, c)};
      const VkSampler sampler = make_converting_sampler(c.is_linear, &chained);
      VkDescriptorSetLayoutBinding image_binding =
         binding(0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
      image_binding.pImmutableSamplers = &sampler;
      PipelineRecipe recipe = {.cache = cache};
      recipe.sets = {make_set_layout({image_binding, binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                                      binding(2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      VkPipelineLayout layout = make_layout(recipe);
      VkPipeline pipeline = make_pipeline(R"(
         layout(local_size_x = 64) in;
         layout(binding = 0) uniform sampler2D image;
         layout(binding = 1) buffer In { vec2 at[]; };
         layout(binding = 2) buffer Out { vec4 results[]; };
         void main()
         {
            const uint i = gl_GlobalInvocationID.x;
            results[i] = textureLod(image, at[i], 0);
            if (textureSize(image, 0).x == 0) results[i] = vec4(-7);
         })",
                                          recipe, layout);
      VkDescriptorSet set = make_set(recipe.sets[0]);
      TestBuffer in = make_buffer(lookups * 8), out = make_buffer(lookups * 16);
      write_sampled(set, 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                    make_view(planes.image, VK_IMAGE_ASPECT_COLOR_BIT, f.format, &chained),
                    VK_NULL_HANDLE);
      write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, in);
      write_buffer(set, 2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      const VkExtent3D e = planes.image.recipe.extent;
      for (uint32_t i = 0; i < lookups; ++i) {
         in.as<float>()[2 * i] = coordinate(c.is_linear, e.width);
         in.as<float>()[2 * i + 1] = coordinate(c.is_linear, e.height);
      }
      bind_and_run(layout, pipeline, set);

      const oracle::YcbcrImage image = {
         {int(e.width), int(e.height)}, f.scale, [&](int component, int x, int y) {
            return planes.value(component, x, y);
         }};
      // Each component is wrong by its coordinate, in texels, and by sums of weights; a color by
      // the sum of its three.
      const double rounding = std::ldexp(1, -24);
      const double error = rounding * (16 + 2 * 16 * (e.width + e.height));
      const auto zero = oracle::convert(c, {0, 0, 0});
      for (uint32_t i = 0; i < lookups; ++i) {
         const double s = in.as<float>()[2 * i], t = in.as<float>()[2 * i + 1];
         const auto expected = oracle::sample(image, c, s, t);
         for (int channel = 0; channel < 4; ++channel) {
            double gain = 0;
            for (int component = 0; component < 3; ++component) {
               std::array<double, 3> one = {};
               one[component] = 1;
               gain += std::abs(oracle::convert(c, one)[channel] - zero[channel]);
            }
            ASSERT_NEAR(out.as<float>()[4 * i + channel], expected[channel],
                        gain * error + 8 * rounding * (gain + std::abs(zero[channel])))
               << f.format << ", channel " << channel << ", model " << int(c.model) << ", narrow "
               << c.is_narrow << ", cosited " << c.is_cosited[0] << c.is_cosited[1] << ", swapped "
               << c.swaps << ", linear " << c.is_linear << ", size " << e.width << "x" << e.height
               << ", at " << s * e.width << ", " << t * e.height;
         }
      }
   }
}

/// Each layer has planes of its own; views begin at any layer (VK_EXT_ycbcr_image_arrays).
TEST_F(SampledPlanesTest, Layers)
{
   constexpr uint32_t layers = 4, first = 1, size = 4;
   for (const PlanarFormat &f : planar_formats) {
      Planes planes = {f, {}, {}};
      planes.image = make_image({.format = f.format,
                                 .extent = {size, size, 1},
                                 .layers = layers,
                                 .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
      for (int p = 0; p < f.planes; ++p) {
         const VkExtent3D e = planes.extent(p);
         planes.data.push_back(
            make_random_buffer(layers * e.width * e.height * planes.components(p) * f.bytes));
         VkBufferImageCopy copy = planes.whole(p);
         copy.imageSubresource.layerCount = layers;
         VkCommandBuffer cmd = begin();
         vkCmdCopyBufferToImage(cmd, planes.data[p].handle, planes.image.handle,
                                VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
         run(cmd);
      }
      const VkSamplerYcbcrConversionInfo chained = {
         .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO,
         .conversion = make_conversion(f.format, unchanged)};
      const VkSampler sampler = make_converting_sampler(false, &chained);
      VkDescriptorSetLayoutBinding image = binding(0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER);
      image.pImmutableSamplers = &sampler;
      PipelineRecipe recipe;
      recipe.sets = {make_set_layout({image, binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      const VkPipelineLayout layout = make_layout(recipe);
      const VkPipeline pipeline = make_pipeline(R"(
         layout(local_size_x = 4, local_size_y = 4) in;
         layout(binding = 0) uniform sampler2DArray image;
         layout(binding = 1) buffer Out { vec4 results[]; };
         void main()
         {
            const uvec3 i = gl_GlobalInvocationID;
            results[i.x + 4 * (i.y + 4 * i.z)] = textureLod(image, vec3((i.xy + 0.5) / 4, i.z), 0);
         })",
                                                recipe, layout);
      const VkDescriptorSet set = make_set(recipe.sets[0]);
      const TestBuffer out = make_random_buffer((layers - first) * size * size * 16);
      write_sampled(set, 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                    make_view(planes.image, VK_IMAGE_ASPECT_COLOR_BIT, f.format, &chained, first,
                              layers - first),
                    VK_NULL_HANDLE);
      write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdDispatch(cmd, 1, 1, layers - first);
      run(cmd);
      for (uint32_t i = 0; i < out.as().size(); ++i) {
         const int component = int(i % 4), x = int(i / 4 % size), y = int(i / 16 % size),
                   layer = int(first + i / 64);
         // Rows of all layers follow each other.
         const int row =
                      component == 1 ? layer * int(size) + y : (layer * int(size) + y) / f.scale[1],
                   column = component == 1 ? x : x / f.scale[0];
         const double expected = component == 3 ? 1 : planes.value(component, column, row);
         ASSERT_NEAR(out.as<float>()[i], expected, 1e-6) << f.format << ", " << i;
      }
   }
}

/// Descriptors with and without conversions, in an array and beside each other, written by copies.
TEST_F(SampledPlanesTest, ArraysAndCopiesOfDescriptors)
{
   const PlanarFormat &f = planar_formats[1];
   const VkSamplerYcbcrConversionInfo chained = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO,
      .conversion = make_conversion(f.format, unchanged)};
   const VkSampler sampler = make_converting_sampler(false, &chained);
   const VkSampler samplers[] = {sampler, sampler, sampler};
   VkDescriptorSetLayoutBinding images = binding(1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 3);
   images.pImmutableSamplers = samplers;
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER), images,
                                   binding(2, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(three_and_a_plain_one, recipe, layout);
   const Planes planes[] = {make_planes(f), make_planes(f), make_planes(f)};
   VkDescriptorSet set = make_set(recipe.sets[0]), other = make_set(recipe.sets[0]);
   for (uint32_t i = 0; i < 3; ++i)
      write_sampled(i == 2 ? other : set, 1, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                    make_view(planes[i].image, VK_IMAGE_ASPECT_COLOR_BIT, f.format, &chained),
                    VK_NULL_HANDLE, i);
   const VkCopyDescriptorSet copy = {.sType = VK_STRUCTURE_TYPE_COPY_DESCRIPTOR_SET,
                                     .srcSet = other,
                                     .srcBinding = 1,
                                     .srcArrayElement = 2,
                                     .dstSet = set,
                                     .dstBinding = 1,
                                     .dstArrayElement = 2,
                                     .descriptorCount = 1};
   vkUpdateDescriptorSets(device, 0, nullptr, 1, &copy);
   write_sampled(
      set, 2, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
      make_view(planes[0].image, VK_IMAGE_ASPECT_PLANE_0_BIT, VK_FORMAT_R8_UNORM, nullptr),
      make_converting_sampler(false, nullptr));
   TestBuffer out = make_buffer(64);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   bind_and_run(layout, pipeline, set);
   for (int i = 0; i < 3; ++i) {
      for (int component = 0; component < 3; ++component)
         EXPECT_NEAR(out.as<float>()[4 * i + component], planes[i].value(component, 0, 0), 1e-6);
   }
   EXPECT_NEAR(out.as<float>()[12], planes[0].value(1, 0, 0), 1e-6);
}

/// In a descriptor buffer, a descriptor with a conversion takes the place of several, as the format
/// reports. A null image has the descriptor of an image without a conversion.
TEST_F(SampledPlanesTest, DescriptorBuffers)
{
   constexpr VkDescriptorType combined = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                              storage = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   constexpr uint32_t count = 3;
   const DescriptorBuffers buffers(physical, device);
   const PlanarFormat &f = planar_formats[1];
   const VkSamplerYcbcrConversionInfo chained = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_INFO,
      .conversion = make_conversion(f.format, unchanged)};
   const VkSampler sampler = make_converting_sampler(false, &chained);
   const VkSampler samplers[] = {sampler, sampler, sampler};
   VkDescriptorSetLayoutBinding images = binding(1, combined, count);
   images.pImmutableSamplers = samplers;
   PipelineRecipe recipe = {.flags = VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT};
   recipe.sets = {make_set_layout({binding(0, storage), images, binding(2, combined)},
                                  VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT)};
   const VkPipelineLayout layout = make_layout(recipe);
   const VkPipeline pipeline = make_pipeline(three_and_a_plain_one, recipe, layout);

   VkSamplerYcbcrConversionImageFormatProperties conversion = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES};
   VkImageFormatProperties2 format_properties = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, .pNext = &conversion};
   const VkPhysicalDeviceImageFormatInfo2 format_info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
      .format = f.format,
      .type = VK_IMAGE_TYPE_2D,
      .usage = VK_IMAGE_USAGE_SAMPLED_BIT,
   };
   ASSERT_VK(vkGetPhysicalDeviceImageFormatProperties2(physical, &format_info, &format_properties));
   const size_t stride = buffers.size_of(combined) * conversion.combinedImageSamplerDescriptorCount;

   const VkDescriptorSetLayout set = recipe.sets[0];
   const VkDeviceSize bytes = buffers.size_of(set);
   const TestBuffer target = vulkan::bind_mapped(
      device, vulkan::create_buffer(device, bytes, descriptor_buffer_usage), bytes, 0, true);
   clean_up.push_back([this, target] { vulkan::destroy(device, target); });
   for (uint8_t &byte : target.as<uint8_t>())
      byte = uint8_t(random());
   const TestBuffer out = make_random_buffer(64);
   const auto address_of = [&](const TestBuffer &buffer) {
      const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                              .buffer = buffer.handle};
      return vkGetBufferDeviceAddress(device, &info);
   };
   const Planes planes[] = {make_planes(f), make_planes(f), make_planes(f)};
   buffers.get_buffer(storage, address_of(out), 64, target.map + buffers.offset_of(set, 0));
   for (uint32_t i = 0; i < count; ++i) {
      const bool is_null = i == 1;
      const VkDescriptorImageInfo image = {
         sampler,
         is_null ? VK_NULL_HANDLE
                 : make_view(planes[i].image, VK_IMAGE_ASPECT_COLOR_BIT, f.format, &chained),
         VK_IMAGE_LAYOUT_GENERAL};
      buffers.get(combined, {.pCombinedImageSampler = &image},
                  target.map + buffers.offset_of(set, 1) + i * stride, is_null ? 0 : stride);
   }
   const VkDescriptorImageInfo plain = {
      make_converting_sampler(false, nullptr),
      make_view(planes[0].image, VK_IMAGE_ASPECT_PLANE_0_BIT, VK_FORMAT_R8_UNORM, nullptr),
      VK_IMAGE_LAYOUT_GENERAL};
   buffers.get(combined, {.pCombinedImageSampler = &plain}, target.map + buffers.offset_of(set, 2));

   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   buffers.bind(cmd, {address_of(target)});
   buffers.set_offsets(cmd, layout, 0, {0}, {0});
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < count; ++i) {
      for (int component = 0; component < 3; ++component)
         EXPECT_NEAR(out.as<float>()[4 * i + uint32_t(component)],
                     i == 1 ? 0 : planes[i].value(component, 0, 0), 1e-6)
            << i;
   }
   EXPECT_NEAR(out.as<float>()[12], planes[0].value(1, 0, 0), 1e-6);
}

} // namespace weft::icd_test
