// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Partially resident images: sparseResidencyImage2D, sparseResidencyImage3D.

#include "tests/icd/sparse_image_fixture.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace weft::icd_test {

TEST_F(SparseImageTest, Properties)
{
   for (const BlockShape &shape : block_shapes) {
      for (const VkImageType type : {VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_3D}) {
         uint32_t count = 1;
         VkSparseImageFormatProperties properties;
         vkGetPhysicalDeviceSparseImageFormatProperties(
            physical, shape.format, type, VK_SAMPLE_COUNT_1_BIT, VK_IMAGE_USAGE_STORAGE_BIT,
            VK_IMAGE_TILING_OPTIMAL, &count, &properties);
         ASSERT_EQ(count, 1u);
         EXPECT_EQ(properties.imageGranularity.width, shape.width);
         EXPECT_EQ(properties.imageGranularity.height, shape.height);
         EXPECT_EQ(properties.imageGranularity.depth, 1u);
         EXPECT_EQ(bool(properties.flags & VK_SPARSE_IMAGE_FORMAT_NONSTANDARD_BLOCK_SIZE_BIT),
                   type == VK_IMAGE_TYPE_3D || !shape.qualifier);
      }
   }
   const auto count_of = [&](VkFormat format, VkImageType type, VkSampleCountFlagBits samples,
                             VkImageTiling tiling) {
      uint32_t count = 9;
      vkGetPhysicalDeviceSparseImageFormatProperties(
         physical, format, type, samples, VK_IMAGE_USAGE_TRANSFER_SRC_BIT, tiling, &count, nullptr);
      return count;
   };
   constexpr auto r32 = VK_FORMAT_R32_UINT;
   EXPECT_EQ(count_of(r32, VK_IMAGE_TYPE_2D, VK_SAMPLE_COUNT_1_BIT, VK_IMAGE_TILING_OPTIMAL), 1u);
   EXPECT_EQ(count_of(r32, VK_IMAGE_TYPE_1D, VK_SAMPLE_COUNT_1_BIT, VK_IMAGE_TILING_OPTIMAL), 0u);
   EXPECT_EQ(count_of(r32, VK_IMAGE_TYPE_2D, VK_SAMPLE_COUNT_4_BIT, VK_IMAGE_TILING_OPTIMAL), 0u);
   EXPECT_EQ(count_of(r32, VK_IMAGE_TYPE_2D, VK_SAMPLE_COUNT_1_BIT, VK_IMAGE_TILING_LINEAR), 0u);
   EXPECT_EQ(count_of(VK_FORMAT_R32G32B32_UINT, VK_IMAGE_TYPE_2D, VK_SAMPLE_COUNT_1_BIT,
                      VK_IMAGE_TILING_OPTIMAL),
             0u);
   EXPECT_EQ(count_of(VK_FORMAT_D32_SFLOAT_S8_UINT, VK_IMAGE_TYPE_2D, VK_SAMPLE_COUNT_1_BIT,
                      VK_IMAGE_TILING_OPTIMAL),
             0u);
}

/// Reads of unbound blocks are zeros. Writes reach the memory of the block, at the texel's place.
TEST_F(SparseImageTest, Copies)
{
   for (const BlockShape &shape : block_shapes) {
      for (const bool is_3d : {false, true}) {
         SparseImage sparse = make_random_image(shape, is_3d, 0);
         bind_at_random(&sparse);
         for (uint32_t level = 0; level < sparse.image.recipe.levels; ++level) {
            const size_t bytes = texels(sparse, level) * shape.bytes;
            const TestBuffer read = make_random_buffer(bytes);
            read_back(sparse.image, read, level);
            expect_model(sparse, level, read, "read");
            const TestBuffer written = make_random_buffer(bytes);
            fill(sparse.image, written, level);
            expect_model(sparse, level, written, "written");
            if (level < sparse.needed.imageMipTailFirstLod)
               continue;
            read_back(sparse.image, read, level);
            ASSERT_EQ(memcmp(read.map, written.map, bytes), 0);
         }
      }
   }
}

TEST_F(SparseImageTest, PartsAreCopied)
{
   const BlockShape &shape = block_shapes[2];
   SparseImage sparse = make_random_image(shape, false, 0);
   bind_at_random(&sparse, true);
   const auto [width, height, depth] = sparse.image.recipe.extent;
   for (int round = 0; round < 8; ++round) {
      const auto x = uint32_t(random() % width), y = uint32_t(random() % height),
                 w = 1 + uint32_t(random() % (width - x)),
                 h = 1 + uint32_t(random() % (height - y)), row = w + uint32_t(random() % 9),
                 layer = uint32_t(random() % sparse.image.recipe.layers);
      const VkBufferImageCopy region = {
         .bufferRowLength = row,
         .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, layer, 1},
         .imageOffset = {int32_t(x), int32_t(y), 0},
         .imageExtent = {w, h, 1},
      };
      const TestBuffer part = make_random_buffer(size_t(row) * h * 4);
      VkCommandBuffer cmd = begin();
      if (round % 2)
         vkCmdCopyImageToBuffer(cmd, sparse.image.handle, VK_IMAGE_LAYOUT_GENERAL, part.handle, 1,
                                &region);
      else
         vkCmdCopyBufferToImage(cmd, part.handle, sparse.image.handle, VK_IMAGE_LAYOUT_GENERAL, 1,
                                &region);
      run(cmd);
      for (uint32_t j = 0; j < h; ++j) {
         for (uint32_t i = 0; i < w; ++i)
            ASSERT_EQ(part.as()[j * row + i], sparse.number(0, x + i, y + j, layer));
      }
   }
}

/// Between images with and without blocks, and within one.
TEST_F(SparseImageTest, CopiesBetweenImages)
{
   const BlockShape &shape = block_shapes[3];
   SparseImage sparse = make_random_image(shape, false, 0);
   bind_at_random(&sparse, true);
   const auto [width, height, depth] = sparse.image.recipe.extent;
   const TestImage plain = make_image({.format = shape.format, .extent = {width, height, 1}});
   const TestBuffer before = make_random_buffer(size_t(width) * height * 8),
                    after = make_random_buffer(size_t(width) * height * 8);
   fill(plain, before);
   const uint32_t w = width / 2, h = height / 2;
   const auto x = int32_t(random() % (width - w)), y = int32_t(random() % (height - h));
   const VkImageSubresourceLayers first = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
   const VkImageCopy whole = {.srcSubresource = first,
                              .dstSubresource = first,
                              .extent = {width, height, 1}},
                     part = {.srcSubresource = first,
                             .srcOffset = {x, y, 0},
                             .dstSubresource = first,
                             .extent = {w, h, 1}};
   VkCommandBuffer cmd = begin();
   vkCmdCopyImage(cmd, plain.handle, VK_IMAGE_LAYOUT_GENERAL, sparse.image.handle,
                  VK_IMAGE_LAYOUT_GENERAL, 1, &whole);
   vkCmdCopyImage(cmd, sparse.image.handle, VK_IMAGE_LAYOUT_GENERAL, plain.handle,
                  VK_IMAGE_LAYOUT_GENERAL, 1, &part);
   run(cmd);
   read_back(plain, after);
   for (uint32_t j = 0; j < height; ++j) {
      for (uint32_t i = 0; i < width; ++i) {
         const size_t from =
            i < w && j < h ? (j + uint32_t(y)) * width + i + uint32_t(x) : j * width + i;
         ASSERT_EQ(after.as<uint64_t>()[j * width + i], before.as<uint64_t>()[from]);
         ASSERT_EQ(memcmp(sparse.texel(0, i, j, 0), before.map + (j * width + i) * 8, 8), 0);
      }
   }
}

TEST_F(SparseImageTest, Clears)
{
   for (const bool is_3d : {false, true}) {
      const BlockShape &shape = standard_shapes[random() % standard_shapes.size()];
      SparseImage sparse = make_random_image(shape, is_3d, 0);
      bind_at_random(&sparse);
      const uint32_t levels = sparse.image.recipe.levels;
      const VkClearColorValue color = {.uint32 = {7, 7, 7, 7}};
      const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, levels, 0,
                                           sparse.image.recipe.layers};
      VkCommandBuffer cmd = begin();
      vkCmdClearColorImage(cmd, sparse.image.handle, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &all);
      run(cmd);
      for (uint32_t level = 0; level < levels; ++level) {
         for_each_texel(sparse, level, [&](size_t, uint32_t x, uint32_t y, uint32_t z) {
            if (level < sparse.needed.imageMipTailFirstLod && sparse.texel(level, x, y, z)) {
               ASSERT_EQ(sparse.number(level, x, y, z), 7u);
            }
         });
      }
   }
}

/// Loads with residency, then stores and atomics.
TEST_F(SparseImageTest, StorageImages)
{
   for (const BlockShape &shape : standard_shapes) {
      for (const bool is_3d : {false, true}) {
         SparseImage sparse = make_random_image(shape, is_3d, VK_IMAGE_USAGE_STORAGE_BIT);
         bind_at_random(&sparse);
         for (uint32_t level = 0; level < sparse.image.recipe.levels; ++level)
            check_storage(sparse, level);
      }
   }
}

TEST_F(SparseImageTest, Fetches)
{
   for (const BlockShape &shape : standard_shapes) {
      for (const bool is_3d : {false, true}) {
         SparseImage sparse = make_random_image(shape, is_3d, VK_IMAGE_USAGE_SAMPLED_BIT);
         bind_at_random(&sparse);
         const uint32_t levels = sparse.image.recipe.levels,
                        first_level = uint32_t(random() % levels);
         const VkImageView view = view_of(sparse, first_level, levels - first_level);
         for (uint32_t level = first_level; level < sparse.needed.imageMipTailFirstLod; ++level) {
            const TestBuffer out = make_random_buffer(groups(sparse, level).width * 64 * 8);
            run_with("#extension GL_ARB_sparse_texture2 : require\n" + grid(sparse, level) +
                        "layout(binding = 0) uniform usampler" + (is_3d ? "3D" : "2DArray") +
                        " image;\n"
                        "layout(binding = 1) buffer Out { uvec2 results[]; };\n"
                        "void main()\n"
                        "{\n"
                        "   uvec4 texel;\n"
                        "   const int code = sparseTexelFetchARB(image, texel_place(), " +
                        std::to_string(level - first_level) +
                        ", texel);\n"
                        "   results[texel_number()] = uvec2(sparseTexelsResidentARB(code), "
                        "texel.x);\n"
                        "}",
                     view, out, groups(sparse, level),
                     make_sampler({}, VK_BORDER_COLOR_INT_OPAQUE_BLACK));
            expect_loads(sparse, level, out);
         }
      }
   }
}

/// The same texels as in an image of rows, by samplers that have no code of their own.
TEST_F(SparseImageTest, Samples)
{
   const BlockShape shape = {VK_FORMAT_R16G16B16A16_UNORM, 8, 128, 64, 2, "rgba16"};
   for (const bool is_3d : {false, true}) {
      SparseImage sparse = make_random_image(shape, is_3d, VK_IMAGE_USAGE_SAMPLED_BIT);
      bind_at_random(&sparse, true);
      const TestImage plain = make_image(sparse.image.recipe);
      for (uint32_t level = 0; level < sparse.image.recipe.levels; ++level) {
         const TestBuffer texels_of_level = make_random_buffer(texels(sparse, level) * shape.bytes);
         fill(sparse.image, texels_of_level, level);
         fill(plain, texels_of_level, level);
      }
      const oracle::SamplerState state = {
         .magnified_linear = true,
         .minified_linear = true,
         .levels_linear = true,
         .wrap = {oracle::Wrap::mirror, oracle::Wrap::mirror, oracle::Wrap::mirror}};
      const VkSampler sampler = make_sampler(state, VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK);
      const VkImageViewType type = is_3d ? VK_IMAGE_VIEW_TYPE_3D : VK_IMAGE_VIEW_TYPE_2D_ARRAY;
      std::vector<TestBuffer> results;
      for (const TestImage &image : {sparse.image, plain}) {
         results.push_back(make_buffer(4096 * 16));
         const VkImageView view =
            make_image_view(image, type, 0, 0, image.recipe.layers, image.recipe.levels);
         run_with(std::string("layout(local_size_x = 64) in;\n"
                              "layout(binding = 0) uniform sampler") +
                     (is_3d ? "3D" : "2DArray") +
                     " image;\n"
                     "layout(binding = 1) buffer Out { vec4 results[]; };\n"
                     "void main()\n"
                     "{\n"
                     "   const uint i = gl_GlobalInvocationID.x;\n"
                     "   const vec3 at = vec3(i * 0.1234567, i * 0.0765432, i * 0.37);\n"
                     "   results[i] = textureLod(image, at, (i % 37) / 9.0);\n"
                     "}",
                  view, results.back(), {4096 / 64, 1, 1}, sampler);
      }
      EXPECT_TRUE(std::ranges::equal(results[0].as(), results[1].as()));
   }
}

/// Formats and samplers whose reads of rows have code of their own.
TEST_F(SparseImageTest, PlainReads)
{
   const BlockShape shape = {VK_FORMAT_R8G8B8A8_UNORM, 4, 128, 128, 1, "rgba8"};
   SparseImage sparse = make_sparse_image(
      shape,
      {.format = shape.format, .extent = {300, 200, 1}, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   bind_at_random(&sparse, true);
   const TestBuffer colors = make_random_buffer(300 * 200 * 4),
                    out = make_random_buffer(groups(sparse, 0).width * 64 * 8);
   fill(sparse.image, colors);
   run_with(grid(sparse, 0) +
               "layout(binding = 0) uniform sampler2D image;\n"
               "layout(binding = 1) buffer Out { uvec2 results[]; };\n"
               "void main()\n"
               "{\n"
               "   const ivec2 at = texel_place().xy;\n"
               "   const vec4 fetched = texelFetch(image, at, 0),\n"
               "              sampled = textureLod(image, (at + 0.5) / vec2(size.xy), 0);\n"
               "   results[texel_number()] = uvec2(packUnorm4x8(fetched), packUnorm4x8(sampled));\n"
               "}",
            make_image_view(sparse.image, VK_IMAGE_VIEW_TYPE_2D), out, groups(sparse, 0),
            make_sampler({}, VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK));
   for (size_t i = 0; i < 300 * 200; ++i) {
      ASSERT_EQ(out.as()[2 * i], colors.as()[i]) << i;
      ASSERT_EQ(out.as()[2 * i + 1], colors.as()[i]) << i;
   }
}

TEST_F(SparseImageTest, CompressedImages)
{
   // Blocks of 8 bytes and 4 x 4 texels.
   constexpr uint32_t width = 512 + 4 * 30, height = 256 + 4 * 9;
   const BlockShape shape = {VK_FORMAT_BC1_RGBA_UNORM_BLOCK, 8, 512, 256, 1, ""};
   SparseImage sparse = make_sparse_image(
      shape,
      {.format = shape.format, .extent = {width, height, 1}, .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   bind_at_random(&sparse, true);
   const TestImage plain = make_image(sparse.image.recipe);
   const TestBuffer blocks = make_random_buffer(width / 4 * height / 4 * 8);
   fill(sparse.image, blocks);
   fill(plain, blocks);
   for (uint32_t y = 0; y < height / 4; ++y) {
      for (uint32_t x = 0; x < width / 4; ++x) {
         const std::optional<uint32_t> block = sparse.block_at(0, 4 * x, 4 * y, 0);
         const uint64_t *memory = reinterpret_cast<const uint64_t *>(sparse.memory.words.data()) +
                                  size_t(*block) * block_bytes / 8;
         ASSERT_EQ(memory[y % 64 * 128 + x % 128], blocks.as<uint64_t>()[y * (width / 4) + x]);
      }
   }
   std::vector<TestBuffer> results;
   for (const TestImage &image : {sparse.image, plain}) {
      results.push_back(make_buffer(width * height * 16));
      run_with("layout(local_size_x = 4, local_size_y = 4) in;\n"
               "layout(binding = 0) uniform texture2D image;\n"
               "layout(binding = 1) buffer Out { vec4 results[]; };\n"
               "void main()\n"
               "{\n"
               "   const ivec2 at = ivec2(gl_GlobalInvocationID.xy);\n"
               "   results[at.y * " +
                  std::to_string(width) +
                  " + at.x] = texelFetch(image, at, 0);\n"
                  "}",
               make_image_view(image, VK_IMAGE_VIEW_TYPE_2D), results.back(),
               {width / 4, height / 4, 1});
   }
   EXPECT_TRUE(std::ranges::equal(results[0].as(), results[1].as()));
}

} // namespace weft::icd_test
