// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Blits, attachments and resolves of partially resident images, with WEFT_QUEUE=graphics.

#include "tests/icd/sparse_image_fixture.h"

#include <cstring>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr BlockShape rgba8 = {VK_FORMAT_R8G8B8A8_UNORM, 4, 128, 128, 1, "rgba8"};
constexpr uint32_t width = 300, height = 200, texel_count = width * height;
constexpr VkImageSubresourceLayers first_layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

} // namespace

class SparseBlitTest : public SparseImageTest {
protected:
   static constexpr ImageRecipe recipe = {.format = rgba8.format,
                                          .extent = {width, height, 1},
                                          .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT};

   /// An image of blocks with these texels.
   SparseImage make_tiled(const TestBuffer &texels)
   {
      SparseImage sparse = make_sparse_image(rgba8, recipe);
      bind_at_random(&sparse, true);
      fill(sparse.image, texels);
      return sparse;
   }

   TestBuffer contents(const TestImage &image)
   {
      const TestBuffer out = make_random_buffer(texel_count * 4);
      read_back(image, out);
      return out;
   }
};

TEST_F(SparseBlitTest, AsBlitsOfRows)
{
   const TestBuffer source = make_random_buffer(texel_count * 4),
                    target = make_random_buffer(texel_count * 4);
   for (const VkFilter filter : {VK_FILTER_NEAREST, VK_FILTER_LINEAR}) {
      const auto place = [&] {
         return VkOffset3D{int32_t(random() % width), int32_t(random() % height), 0};
      };
      const auto ends = [&](VkOffset3D *offsets) {
         offsets[0] = place();
         do
            offsets[1] = place();
         while (offsets[1].x == offsets[0].x || offsets[1].y == offsets[0].y);
         offsets[1].z = 1;
      };
      VkImageBlit region = {.srcSubresource = first_layer, .dstSubresource = first_layer};
      ends(region.srcOffsets);
      ends(region.dstOffsets);
      std::vector<TestBuffer> results;
      for (const bool from_tiles : {false, true}) {
         for (const bool to_tiles : {false, true}) {
            const TestImage from = from_tiles ? make_tiled(source).image : make_image(recipe),
                            to = to_tiles ? make_tiled(target).image : make_image(recipe);
            fill(from, source);
            fill(to, target);
            VkCommandBuffer cmd = begin();
            vkCmdBlitImage(cmd, from.handle, general, to.handle, general, 1, &region, filter);
            run(cmd);
            results.push_back(contents(to));
            EXPECT_TRUE(std::ranges::equal(results.back().as(), results[0].as()))
               << from_tiles << to_tiles;
         }
      }
      EXPECT_FALSE(std::ranges::equal(results[0].as(), target.as()));
   }
}

/// Clears an area of an attachment, then resolves another image to a part of it.
TEST_F(SparseBlitTest, AttachmentsAndResolves)
{
   const TestBuffer before = make_random_buffer(texel_count * 4);
   const SparseImage sparse = make_tiled(before);
   ImageRecipe samples = recipe;
   samples.samples = VK_SAMPLE_COUNT_4_BIT;
   const TestImage several = make_image(samples);
   const VkImageView view = make_image_view(sparse.image, VK_IMAGE_VIEW_TYPE_2D);
   const VkRenderingAttachmentInfo attachment = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .imageView = view,
      .imageLayout = general,
      .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .clearValue = {.color = {.float32 = {1, 0, 1, 0}}},
   };
   const VkRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .renderArea = {{100, 50}, {150, 120}},
      .layerCount = 1,
      .colorAttachmentCount = 1,
      .pColorAttachments = &attachment,
   };
   const VkClearColorValue white = {.float32 = {1, 1, 1, 1}};
   const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
   const VkImageResolve region = {.srcSubresource = first_layer,
                                  .srcOffset = {3, 5, 0},
                                  .dstSubresource = first_layer,
                                  .dstOffset = {120, 10, 0},
                                  .extent = {90, 140, 1}};
   VkCommandBuffer cmd = begin();
   vkCmdBeginRendering(cmd, &rendering);
   vkCmdEndRendering(cmd);
   vkCmdClearColorImage(cmd, several.handle, general, &white, 1, &all);
   vkCmdResolveImage(cmd, several.handle, general, sparse.image.handle, general, 1, &region);
   run(cmd);
   for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
         const auto is_in = [&](uint32_t left, uint32_t top, uint32_t w, uint32_t h) {
            return x - left < w && y - top < h;
         };
         const uint32_t expected = is_in(120, 10, 90, 140)    ? 0xffffffff
                                   : is_in(100, 50, 150, 120) ? 0x00ff00ff
                                                              : before.as()[y * width + x];
         uint32_t texel;
         memcpy(&texel, sparse.texel(0, x, y, 0), 4);
         ASSERT_EQ(texel, expected) << x << ", " << y;
      }
   }
}

} // namespace weft::icd_test
