// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images of compressed formats: their blocks in memory, copies, and views of blocks.

#include "tests/icd/sampling_fixture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace weft::icd_test {

namespace {

constexpr VkImageAspectFlags color_aspect = VK_IMAGE_ASPECT_COLOR_BIT;
constexpr uint8_t poison = 0xa5;

uint32_t blocks(uint32_t texels)
{
   return (texels + oracle::block_side - 1) / oracle::block_side;
}

/// The integer format whose texels have the size of the blocks.
VkFormat format_of_blocks(const Format &format)
{
   return format.blocks().bytes == 8 ? VK_FORMAT_R32G32_UINT : VK_FORMAT_R32G32B32A32_UINT;
}

} // namespace

class CompressedImageTest : public SamplingTest {
protected:
   TestImage make_sampled(const Format &format, VkExtent3D extent, uint32_t levels = 1,
                          uint32_t layers = 1, VkImageTiling tiling = VK_IMAGE_TILING_OPTIMAL)
   {
      return make_image({.format = format.format,
                         .extent = extent,
                         .levels = levels,
                         .layers = layers,
                         .tiling = tiling,
                         .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   }

   TestBuffer make_poisoned(VkDeviceSize size)
   {
      const TestBuffer buffer = make_buffer(size);
      memset(buffer.map, poison, size);
      return buffer;
   }

   /// Fetches all texels of a level of a view's two layers.
   void fetch(VkImageView view, uint32_t level, const TestBuffer &out)
   {
      if (!pipeline) {
         recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE),
                                         binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
         recipe.push_bytes = 4;
         layout = make_layout(recipe);
         pipeline = make_pipeline(R"(
            #extension GL_EXT_samplerless_texture_functions : require
            layout(local_size_x = 64) in;
            layout(binding = 0) uniform texture2DArray image;
            layout(binding = 1) buffer Out { vec4 texels[]; };
            layout(push_constant) uniform Level { int level; };
            void main()
            {
               ivec2 size = textureSize(image, level).xy;
               int i = int(gl_GlobalInvocationID.x), n = size.x * size.y;
               if (i < 2 * n)
                  texels[i] = texelFetch(image, ivec3(i % size.x, i % n / size.x, i / n), level);
            })",
                                  recipe, layout);
      }
      VkDescriptorSet set = make_set(recipe.sets[0]);
      write_sampled(set, 0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE, view, VK_NULL_HANDLE);
      write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &level);
      vkCmdDispatch(cmd, uint32_t(out.size / 16 + 63) / 64, 1, 1);
      run(cmd);
   }

   PipelineRecipe recipe;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkPipeline pipeline = VK_NULL_HANDLE;
};

TEST_F(CompressedImageTest, FormatsHaveTheFeaturesThatTheFeatureRequires)
{
   VkPhysicalDeviceFeatures features;
   vkGetPhysicalDeviceFeatures(physical, &features);
   EXPECT_TRUE(features.textureCompressionBC);
   constexpr VkFormatFeatureFlags required =
      VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT |
      VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
   for (int format = VK_FORMAT_BC1_RGB_UNORM_BLOCK; format <= VK_FORMAT_BC7_SRGB_BLOCK; ++format) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, VkFormat(format), &properties);
      EXPECT_EQ(properties.optimalTilingFeatures & required, required) << format;
      EXPECT_EQ(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT, 0u);
      EXPECT_EQ(properties.bufferFeatures, 0u) << format;
      const auto query = [&](VkImageType type, VkImageUsageFlags usage, VkImageCreateFlags flags) {
         VkImageFormatProperties limits;
         return vkGetPhysicalDeviceImageFormatProperties(
            physical, VkFormat(format), type, VK_IMAGE_TILING_OPTIMAL, usage, flags, &limits);
      };
      constexpr VkImageUsageFlags sampled = VK_IMAGE_USAGE_SAMPLED_BIT;
      constexpr VkImageCreateFlags views = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT |
                                           VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT |
                                           VK_IMAGE_CREATE_EXTENDED_USAGE_BIT;
      EXPECT_VK(query(VK_IMAGE_TYPE_2D, sampled, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT));
      EXPECT_VK(query(VK_IMAGE_TYPE_3D, sampled, 0));
      EXPECT_VK(query(VK_IMAGE_TYPE_2D, sampled | VK_IMAGE_USAGE_STORAGE_BIT, views));
      constexpr VkResult refused = VK_ERROR_FORMAT_NOT_SUPPORTED;
      EXPECT_EQ(query(VK_IMAGE_TYPE_2D, VK_IMAGE_USAGE_STORAGE_BIT, 0), refused);
      EXPECT_EQ(query(VK_IMAGE_TYPE_1D, sampled, 0), refused);
   }
   VkImageFormatProperties limits;
   EXPECT_EQ(vkGetPhysicalDeviceImageFormatProperties(
                physical, VK_FORMAT_R8_UINT, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
                VK_IMAGE_USAGE_SAMPLED_BIT, VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT,
                &limits),
             VK_ERROR_FORMAT_NOT_SUPPORTED);
}

TEST_F(CompressedImageTest, FetchesOfEachFormat)
{
   constexpr uint32_t layers = 2;
   for (const Format &format : compressed_formats()) {
      for (const VkImageTiling tiling : {VK_IMAGE_TILING_OPTIMAL, VK_IMAGE_TILING_LINEAR}) {
         const VkExtent3D extent = {1 + uint32_t(random() % 90), 1 + uint32_t(random() % 40), 1};
         const auto levels = uint32_t(std::bit_width(std::max(extent.width, extent.height)));
         const TestImage image = make_sampled(format, extent, levels, layers, tiling);
         const VkImageView view =
            make_image_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 0, 0, layers, levels);
         std::vector<TestBuffer> sources;
         for (uint32_t level = 0; level < levels; ++level) {
            const LevelTexels texels(format, image.extent(level), layers);
            sources.push_back(make_texels(format, texels.bytes()));
            fill(image, sources.back(), level);
         }
         for (uint32_t level = 0; level < levels; ++level) {
            const VkExtent3D e = image.extent(level);
            const LevelTexels texels(format, e, layers);
            TestBuffer out = make_poisoned(e.width * e.height * layers * 16);
            fetch(view, level, out);
            for (uint32_t i = 0; i < e.width * e.height * layers; ++i) {
               const auto expected =
                  texels.color(sources[level].as<std::byte>(), int(i % e.width),
                               int(i / e.width % e.height), int(i / e.width / e.height));
               for (uint32_t c = 0; c < 4; ++c) {
                  const double result = out.as<float>()[4 * i + c];
                  ASSERT_LE(std::abs(result - expected[c]),
                            texels.error() + std::abs(expected[c]) * 1e-6)
                     << format.name << ", level " << level << " of " << extent.width << " x "
                     << extent.height << ", " << i << ": " << result << ", " << expected[c];
               }
            }
            TestBuffer after = make_poisoned(sources[level].size);
            read_back(image, after, level);
            ASSERT_EQ(memcmp(after.map, sources[level].map, after.size), 0) << format.name;
         }
      }
   }
}

/// Copies of 9 x 6 texels, whose last blocks lie at the edges of a level of 21 x 14 texels.
TEST_F(CompressedImageTest, PartsOfBuffers)
{
   for (const Format &format : compressed_formats()) {
      const uint32_t bytes = format.blocks().bytes;
      constexpr uint32_t layers = 3, row_length = 20, image_height = 12;
      const TestImage image = make_sampled(format, {43, 29, 1}, 2, layers);
      const VkExtent3D level = image.extent(1);
      const uint32_t columns = blocks(level.width), rows = blocks(level.height);
      TestBuffer zeros = make_buffer(columns * rows * layers * bytes),
                 from = make_random_buffer(4096), after = make_poisoned(zeros.size),
                 again = make_poisoned(4096);
      fill(image, zeros, 1);
      const VkBufferImageCopy copy = {
         .bufferOffset = 2 * bytes,
         .bufferRowLength = row_length,
         .bufferImageHeight = image_height,
         .imageSubresource = {color_aspect, 1, 1, 2},
         .imageOffset = {12, 8, 0},
         .imageExtent = {9, 6, 1},
      };
      VkCommandBuffer cmd = begin();
      vkCmdCopyBufferToImage(cmd, from.handle, image.handle, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
      vkCmdCopyImageToBuffer(cmd, image.handle, VK_IMAGE_LAYOUT_GENERAL, again.handle, 1, &copy);
      run(cmd);
      read_back(image, after, 1);
      std::vector<bool> copied(4096);
      for (uint32_t layer = 0, i = 0; layer < layers; ++layer) {
         for (uint32_t y = 0; y < rows; ++y) {
            for (uint32_t x = 0; x < columns; ++x, ++i) {
               const bool inside = layer >= 1 && y >= 2 && x >= 3;
               const uint32_t place =
                  (2 + ((layer - 1) * image_height / 4 + (y - 2)) * row_length / 4 + (x - 3)) *
                  bytes;
               for (uint32_t b = 0; b < bytes; ++b) {
                  const uint8_t expected = inside ? from.map[place + b] : 0;
                  ASSERT_EQ(after.map[i * bytes + b], expected) << layer << ", " << y << ", " << x;
                  if (inside) {
                     ASSERT_EQ(again.map[place + b], expected);
                     copied[place + b] = true;
                  }
               }
            }
         }
      }
      EXPECT_EQ(std::ranges::count(copied, true), 2 * 3 * 2 * bytes);
      for (uint32_t i = 0; i < 4096; ++i) {
         if (!copied[i]) {
            ASSERT_EQ(again.map[i], poison) << i;
         }
      }
   }
}

/// Blocks become texels of their size, and texels blocks. The extent counts the source's texels.
TEST_F(CompressedImageTest, BlocksBecomeTexels)
{
   for (const Format &format : compressed_formats()) {
      const uint32_t bytes = format.blocks().bytes;
      const TestImage first = make_sampled(format, {22, 11, 1}, 3, 2),
                      second = make_sampled(format, {22, 11, 1}, 3, 2),
                      texels =
                         make_image({.format = format_of_blocks(format), .extent = {7, 5, 1}}),
                      slices = make_image({.format = format_of_blocks(format),
                                           .type = VK_IMAGE_TYPE_3D,
                                           .extent = {3, 2, 2}});
      for (uint32_t level = 0; level < 3; ++level) {
         const VkExtent3D e = first.extent(level);
         const VkDeviceSize size = 2 * blocks(e.width) * blocks(e.height) * bytes;
         fill(first, make_random_buffer(size), level);
         fill(second, make_buffer(size), level);
      }
      fill(texels, make_buffer(7 * 5 * bytes));
      // Of level 0, 2 x 2 blocks at the right edge; of level 2 with 5 x 2 texels, both blocks.
      const VkImageCopy out[] = {
         {{color_aspect, 0, 1, 1}, {16, 4, 0}, {color_aspect, 0, 0, 1}, {3, 2, 0}, {6, 7, 1}},
         {{color_aspect, 2, 0, 1}, {0, 0, 0}, {color_aspect, 0, 0, 1}, {0, 4, 0}, {5, 2, 1}},
      };
      const VkImageCopy in[] = {
         {{color_aspect, 0, 0, 1}, {3, 2, 0}, {color_aspect, 0, 1, 1}, {16, 4, 0}, {2, 2, 1}},
         {{color_aspect, 0, 0, 1}, {0, 4, 0}, {color_aspect, 2, 0, 1}, {0, 0, 0}, {2, 1, 1}},
      };
      // Of level 1, 11 x 5 texels of both layers, by slices of an image in three dimensions.
      const VkImageCopy to_slices = {
         {color_aspect, 1, 0, 2}, {}, {color_aspect, 0, 0, 1}, {}, {11, 5, 2}};
      const VkImageCopy from_slices = {
         {color_aspect, 0, 0, 1}, {}, {color_aspect, 1, 0, 2}, {}, {3, 2, 2}};
      constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
      VkCommandBuffer cmd = begin();
      vkCmdCopyImage(cmd, first.handle, general, texels.handle, general, 2, out);
      vkCmdCopyImage(cmd, texels.handle, general, second.handle, general, 2, in);
      vkCmdCopyImage(cmd, first.handle, general, slices.handle, general, 1, &to_slices);
      vkCmdCopyImage(cmd, slices.handle, general, second.handle, general, 1, &from_slices);
      run(cmd);
      for (uint32_t level = 0; level < 3; ++level) {
         const VkExtent3D e = first.extent(level);
         const uint32_t columns = blocks(e.width), rows = blocks(e.height);
         const uint32_t count = 2 * columns * rows;
         TestBuffer expected = make_poisoned(count * bytes), after = make_poisoned(count * bytes);
         read_back(first, expected, level);
         read_back(second, after, level);
         for (uint32_t i = 0; i < count; ++i) {
            const uint32_t x = i % columns, y = i / columns % rows, layer = i / columns / rows;
            const bool copied = level == 0   ? layer == 1 && x >= 4 && y >= 1
                                : level == 2 ? layer == 0
                                             : true;
            for (uint32_t b = 0; b < bytes; ++b)
               ASSERT_EQ(after.map[i * bytes + b], copied ? expected.map[i * bytes + b] : 0)
                  << format.name << ", level " << level << ", " << i;
         }
      }
      TestBuffer middle = make_poisoned(7 * 5 * bytes), level0 = make_poisoned(2 * 6 * 3 * bytes);
      read_back(texels, middle);
      read_back(first, level0);
      EXPECT_EQ(memcmp(middle.map + (2 * 7 + 3) * bytes, level0.map + (18 + 6 + 4) * bytes, bytes),
                0);
   }
}

/// A shader stores blocks in the last two of three layers, and another one samples their texels.
TEST_F(CompressedImageTest, ViewsOfBlocks)
{
   VkPhysicalDeviceMaintenance6Properties maintenance6 = {
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_6_PROPERTIES};
   VkPhysicalDeviceProperties2 properties = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                             &maintenance6};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_TRUE(maintenance6.blockTexelViewCompatibleMultipleLayers);
   for (const Format &format : compressed_formats()) {
      const uint32_t bytes = format.blocks().bytes, words = bytes / 4;
      const TestImage image = make_image(
         {.format = format.format,
          .extent = {46, 30, 1},
          .levels = 2,
          .layers = 3,
          .flags = VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT |
                   VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT,
          .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_STORAGE_BIT});
      const VkExtent3D e = image.extent(1);
      const uint32_t columns = blocks(e.width), rows = blocks(e.height);
      fill(image, make_buffer(3 * columns * rows * bytes), 1);
      TestBuffer from = make_texels(format, 2 * columns * rows * bytes);
      TestImage view_of = image;
      view_of.recipe.format = format_of_blocks(format);
      // Beyond the 6 x 4 blocks, stores do nothing.
      run_shader(R"(
         #extension GL_EXT_shader_image_load_formatted : require
         layout(local_size_x = 8, local_size_y = 8) in;
         layout(binding = 0) uniform uimage2DArray image;
         layout(binding = 1) buffer In { uint from[]; };
         void main()
         {
            ivec3 p = ivec3(gl_GlobalInvocationID.xy, 0), size = imageSize(image);
            const int words = )" +
                    std::to_string(words) + R"(;
            for (; p.z < size.z; p.z++) {
               int i = ((p.z * size.y + p.y) * size.x + p.x) * words;
               uvec4 block = uvec4(from[i], from[i + 1], 9, 9);
               if (words == 4)
                  block.zw = uvec2(from[i + 2], from[i + 3]);
               imageStore(image, p, block);
            }
         })",
                 {make_image_view(view_of, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 1, 1, 2)}, {from});
      TestBuffer after = make_poisoned(3 * columns * rows * bytes);
      read_back(image, after, 1);
      for (uint32_t i = 0; i < after.size; ++i) {
         const uint32_t place = i - columns * rows * bytes;
         ASSERT_EQ(after.map[i], place < from.size ? from.map[place] : 0)
            << format.name << ", " << i;
      }
      TestBuffer out = make_poisoned(e.width * e.height * 2 * 16);
      fetch(make_image_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 1, 1, 2), 0, out);
      const LevelTexels texels(format, e, 2);
      for (uint32_t i = 0; i < e.width * e.height * 2; ++i) {
         const auto expected =
            texels.color(from.as<std::byte>(), int(i % e.width), int(i / e.width % e.height),
                         int(i / e.width / e.height));
         for (uint32_t c = 0; c < 4; ++c)
            ASSERT_LE(std::abs(out.as<float>()[4 * i + c] - expected[c]),
                      texels.error() + std::abs(expected[c]) * 1e-6)
               << format.name << ", " << i;
      }
   }
}

TEST_F(CompressedImageTest, TheHostMapsRowsOfBlocks)
{
   for (const Format &format : compressed_formats()) {
      const uint32_t bytes = format.blocks().bytes;
      const TestImage image = make_sampled(format, {13, 10, 1}, 2, 3, VK_IMAGE_TILING_LINEAR);
      const VkImageSubresource wanted = {color_aspect, 1, 2};
      VkSubresourceLayout place;
      vkGetImageSubresourceLayout(device, image.handle, &wanted, &place);
      ASSERT_LE(place.offset + place.size, image.memory.size);
      EXPECT_GE(place.rowPitch, 2 * bytes);
      fill(image, make_buffer(3 * 2 * 2 * bytes), 1);
      for (uint32_t i = 0; i < 4; ++i)
         memset(image.memory.map + place.offset + i / 2 * place.rowPitch + i % 2 * bytes,
                int(1 + i), bytes);
      TestBuffer after = make_poisoned(3 * 2 * 2 * bytes);
      read_back(image, after, 1);
      for (uint32_t i = 0; i < after.size; ++i)
         ASSERT_EQ(after.map[i], i / bytes < 8 ? 0 : i / bytes - 7) << format.name << ", " << i;
   }
}

/// Outside of the image, texels are zeros, and a format without alpha has the alpha 1.
TEST_F(CompressedImageTest, FetchesOutOfBounds)
{
   for (const Format &format : compressed_formats()) {
      const TestImage image = make_sampled(format, {5, 6, 1}, 1, 2);
      fill(image, make_texels(format, 8 * format.blocks().bytes));
      PipelineRecipe bounds;
      bounds.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE),
                                      binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      VkPipelineLayout bounds_layout = make_layout(bounds);
      VkPipeline outside = make_pipeline(R"(
         #extension GL_EXT_samplerless_texture_functions : require
         layout(local_size_x = 8) in;
         layout(binding = 0) uniform texture2D image;
         layout(binding = 1) buffer Out { vec4 texels[]; };
         void main()
         {
            int i = int(gl_LocalInvocationID.x);
            ivec3 p[8] = { ivec3(5, 0, 0), ivec3(7, 3, 0), ivec3(0, 6, 0), ivec3(0, 7, 0),
                           ivec3(-1, 0, 0), ivec3(0, -1, 0), ivec3(0, 0, 1), ivec3(1 << 30, 0, 0) };
            texels[i] = texelFetch(image, p[i].xy, p[i].z);
         })",
                                         bounds, bounds_layout);
      VkDescriptorSet set = make_set(bounds.sets[0]);
      write_sampled(set, 0, VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE,
                    make_image_view(image, VK_IMAGE_VIEW_TYPE_2D), VK_NULL_HANDLE);
      TestBuffer out = make_poisoned(8 * 16);
      write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      bind_and_run(bounds_layout, outside, set);
      for (uint32_t i = 0; i < 32; ++i)
         EXPECT_EQ(out.as<float>()[i], i % 4 == 3 && !format.has('A') ? 1.0f : 0.0f)
            << format.name << ", " << i;
   }
}

} // namespace weft::icd_test
