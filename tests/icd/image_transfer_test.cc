// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies and clears of images, and images that the host maps.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::icd_test {

using ImageTransferTest = ImageTest;

TEST_F(ImageTransferTest, PartsOfBuffers)
{
   const TestImage image = make_image({.extent = {16, 8, 1}, .layers = 3});
   TestBuffer zeros = make_buffer(16 * 8 * 3 * 4), from = make_random_buffer(4096),
              after = make_buffer(16 * 8 * 3 * 4);
   fill(image, zeros);
   // 5 x 3 texels of layers 1 and 2, in rows of 7 and slices of 4 rows.
   const VkBufferImageCopy copy = {
      .bufferOffset = 32,
      .bufferRowLength = 7,
      .bufferImageHeight = 4,
      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 2},
      .imageOffset = {9, 4, 0},
      .imageExtent = {5, 3, 1},
   };
   VkCommandBuffer cmd = begin();
   vkCmdCopyBufferToImage(cmd, from.handle, image.handle, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
   run(cmd);
   read_back(image, after);
   TestBuffer again = make_buffer(4096);
   cmd = begin();
   vkCmdCopyImageToBuffer(cmd, image.handle, VK_IMAGE_LAYOUT_GENERAL, again.handle, 1, &copy);
   run(cmd);
   uint32_t inside = 0;
   for (uint32_t layer = 0, i = 0; layer < 3; ++layer) {
      for (uint32_t y = 0; y < 8; ++y) {
         for (uint32_t x = 0; x < 16; ++x, ++i) {
            uint32_t expected = 0;
            if (layer >= 1 && y >= 4 && y < 7 && x >= 9 && x < 14) {
               const uint32_t word = 8 + ((layer - 1) * 4 + (y - 4)) * 7 + (x - 9);
               expected = from.as()[word];
               ASSERT_EQ(again.as()[word], expected);
               again.as()[word] = 0;
               ++inside;
            }
            ASSERT_EQ(after.as()[i], expected) << layer << ", " << y << ", " << x;
         }
      }
   }
   EXPECT_EQ(inside, 30u);
   for (uint32_t word : again.as())
      ASSERT_EQ(word, 0u);
}

/// The rows of the image touch, the rows of the buffer do not.
TEST_F(ImageTransferTest, RowsApart)
{
   const TestImage image = make_image({.extent = {16, 8, 1}});
   TestBuffer from = make_random_buffer(20 * 8 * 4), after = make_buffer(16 * 8 * 4);
   const VkBufferImageCopy copy = {
      .bufferRowLength = 20,
      .imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
      .imageExtent = {16, 8, 1},
   };
   fill(image, after);
   VkCommandBuffer cmd = begin();
   vkCmdCopyBufferToImage(cmd, from.handle, image.handle, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
   run(cmd);
   read_back(image, after);
   for (uint32_t i = 0; i < 16 * 8; ++i)
      ASSERT_EQ(after.as()[i], from.as()[i / 16 * 20 + i % 16]) << i;
}

TEST_F(ImageTransferTest, LayersBecomeSlices)
{
   const TestImage layers = make_image({.extent = {6, 5, 1}, .layers = 4}),
                   volume = make_image({.type = VK_IMAGE_TYPE_3D, .extent = {6, 5, 4}});
   TestBuffer before = make_random_buffer(480), after = make_buffer(480);
   fill(layers, before);
   const VkImageCopy to_volume = {
      .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 3},
      .srcOffset = {1, 2, 0},
      .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
      .dstOffset = {2, 1, 1},
      .extent = {4, 3, 3},
   };
   VkImageCopy back = to_volume;
   std::swap(back.srcSubresource, back.dstSubresource);
   std::swap(back.srcOffset, back.dstOffset);
   const VkClearColorValue zero = {};
   const VkImageSubresourceRange all = {VK_IMAGE_ASPECT_COLOR_BIT, 0, VK_REMAINING_MIP_LEVELS, 0,
                                        VK_REMAINING_ARRAY_LAYERS};
   VkCommandBuffer cmd = begin();
   vkCmdCopyImage(cmd, layers.handle, VK_IMAGE_LAYOUT_GENERAL, volume.handle,
                  VK_IMAGE_LAYOUT_GENERAL, 1, &to_volume);
   vkCmdClearColorImage(cmd, layers.handle, VK_IMAGE_LAYOUT_GENERAL, &zero, 1, &all);
   vkCmdCopyImage(cmd, volume.handle, VK_IMAGE_LAYOUT_GENERAL, layers.handle,
                  VK_IMAGE_LAYOUT_GENERAL, 1, &back);
   run(cmd);
   read_back(layers, after);
   TestBuffer middle = make_buffer(480);
   read_back(volume, middle);
   for (uint32_t layer = 0, i = 0; layer < 4; ++layer) {
      for (uint32_t y = 0; y < 5; ++y) {
         for (uint32_t x = 0; x < 6; ++x, ++i) {
            const bool inside = layer >= 1 && y >= 2 && x >= 1 && x < 5;
            ASSERT_EQ(after.as()[i], inside ? before.as()[i] : 0)
               << layer << ", " << y << ", " << x;
            if (inside) {
               ASSERT_EQ(middle.as()[(layer * 5 + y - 1) * 6 + x + 1], before.as()[i]) << i;
            }
         }
      }
   }
}

TEST_F(ImageTransferTest, Clears)
{
   struct Case {
      VkFormat format;
      VkClearColorValue color; ///< or the depth, as R
      std::vector<uint8_t> texel;
   };
   const Case cases[] = {
      {VK_FORMAT_D16_UNORM, {.float32 = {0.25f}}, {0x00, 0x40}},
      {VK_FORMAT_D32_SFLOAT, {.float32 = {0.75f}}, {0x00, 0x00, 0x40, 0x3f}},
      {VK_FORMAT_X8_D24_UNORM_PACK32, {.float32 = {1}}, {0xff, 0xff, 0xff, 0x00}},
      {VK_FORMAT_R8G8B8A8_UNORM, {.float32 = {1, 0, 2, 0.2f}}, {255, 0, 255, 51}},
      {VK_FORMAT_R16G16_SINT, {.int32 = {-2, 0x1234}}, {0xfe, 0xff, 0x34, 0x12}},
      {VK_FORMAT_R8_UINT, {.uint32 = {77}}, {77}},
   };
   for (const Case &c : cases) {
      const uint32_t bytes = uint32_t(c.texel.size());
      const VkImageAspectFlags aspect = aspect_of(c.format);
      const bool is_color = aspect == VK_IMAGE_ASPECT_COLOR_BIT;
      const TestImage image = make_image({
         .format = c.format,
         .extent = {13, 4, 1},
         .levels = 3,
         .layers = 3,
         .usage = is_color ? VK_IMAGE_USAGE_STORAGE_BIT : VK_IMAGE_USAGE_SAMPLED_BIT,
      });
      TestBuffer ones = make_buffer(13 * 4 * 3 * 4);
      memset(ones.map, 1, ones.size);
      for (uint32_t level = 0; level < 3; ++level)
         fill(image, ones, level);
      const VkImageSubresourceRange range = {aspect, 1, 2, 1, 1};
      const VkClearDepthStencilValue depth = {c.color.float32[0], 0};
      VkCommandBuffer cmd = begin();
      if (is_color)
         vkCmdClearColorImage(cmd, image.handle, VK_IMAGE_LAYOUT_GENERAL, &c.color, 1, &range);
      else
         vkCmdClearDepthStencilImage(cmd, image.handle, VK_IMAGE_LAYOUT_GENERAL, &depth, 1, &range);
      run(cmd);
      for (uint32_t level = 0; level < 3; ++level) {
         TestBuffer after = make_buffer(ones.size);
         read_back(image, after, level);
         const VkExtent3D extent = image.extent(level);
         const uint32_t slice = extent.width * extent.height * bytes;
         for (uint32_t i = 0; i < 3 * slice; ++i) {
            const bool cleared = level > 0 && i / slice == 1;
            ASSERT_EQ(after.map[i], cleared ? c.texel[i % bytes] : 1) << level << ", " << i;
         }
      }
   }
}

TEST_F(ImageTransferTest, TheHostMapsLinearImages)
{
   const TestImage image = make_image({.format = VK_FORMAT_R16_UINT,
                                       .extent = {7, 5, 1},
                                       .levels = 2,
                                       .layers = 3,
                                       .tiling = VK_IMAGE_TILING_LINEAR});
   const VkImageSubresource wanted = {VK_IMAGE_ASPECT_COLOR_BIT, 1, 2};
   VkSubresourceLayout layout;
   vkGetImageSubresourceLayout(device, image.handle, &wanted, &layout);
   ASSERT_LE(layout.offset + layout.size, image.memory.size);
   for (uint32_t y = 0; y < 2; ++y) {
      for (uint32_t x = 0; x < 3; ++x) {
         const auto number = uint16_t(100 * y + x);
         memcpy(image.memory.map + layout.offset + y * layout.rowPitch + 2 * x, &number, 2);
      }
   }
   TestBuffer after = make_buffer(3 * 2 * 2 * 3);
   read_back(image, after, 1);
   for (uint32_t i = 0; i < 6; ++i)
      EXPECT_EQ(after.as<uint16_t>()[12 + i], 100 * (i / 3) + i % 3);
}

TEST_F(ImageTransferTest, UnsupportedImagesAreRefused)
{
   // Commands of a graphics queue.
   constexpr VkFormatFeatureFlags graphics =
      VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_BLIT_SRC_BIT;
   VkFormatProperties format_properties;
   vkGetPhysicalDeviceFormatProperties(physical, VK_FORMAT_R8G8B8A8_UNORM, &format_properties);
   EXPECT_EQ(format_properties.optimalTilingFeatures & graphics, 0u);
   VkImageFormatProperties properties;
   const auto query = [&](VkFormat format, VkImageUsageFlags usage, VkImageCreateFlags flags) {
      return vkGetPhysicalDeviceImageFormatProperties(
         physical, format, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL, usage, flags, &properties);
   };
   EXPECT_VK(query(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_USAGE_STORAGE_BIT, 0));
   EXPECT_GE(properties.maxExtent.width, 4096u);
   EXPECT_GE(properties.maxMipLevels, 13u);
   EXPECT_GE(properties.maxArrayLayers, 256u);
   EXPECT_GE(properties.maxResourceSize, 1u << 31);
   constexpr VkResult refused = VK_ERROR_FORMAT_NOT_SUPPORTED;
   EXPECT_VK(query(VK_FORMAT_R8G8B8A8_SRGB, VK_IMAGE_USAGE_SAMPLED_BIT, 0));
   EXPECT_EQ(query(VK_FORMAT_R8G8B8A8_SRGB, VK_IMAGE_USAGE_STORAGE_BIT, 0), refused);
   EXPECT_VK(query(VK_FORMAT_R8G8B8A8_SRGB, VK_IMAGE_USAGE_STORAGE_BIT,
                   VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT));
   EXPECT_EQ(query(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, 0), refused);
   EXPECT_EQ(query(VK_FORMAT_D32_SFLOAT, VK_IMAGE_USAGE_STORAGE_BIT, 0), refused);
   EXPECT_VK(query(VK_FORMAT_D24_UNORM_S8_UINT, VK_IMAGE_USAGE_SAMPLED_BIT, 0));
   EXPECT_EQ(query(VK_FORMAT_S8_UINT, VK_IMAGE_USAGE_STORAGE_BIT, 0), refused);
   EXPECT_EQ(query(VK_FORMAT_R8G8B8_UNORM, VK_IMAGE_USAGE_SAMPLED_BIT, 0), refused);
   EXPECT_EQ(query(VK_FORMAT_R8_UINT, VK_IMAGE_USAGE_STORAGE_BIT, VK_IMAGE_CREATE_PROTECTED_BIT),
             refused);
   constexpr VkImageCreateFlags resident =
      VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT;
   EXPECT_VK(query(VK_FORMAT_R8_UINT, VK_IMAGE_USAGE_STORAGE_BIT, resident));
   EXPECT_EQ(query(VK_FORMAT_R32G32B32_UINT, VK_IMAGE_USAGE_SAMPLED_BIT, resident), refused);
}

/// Invalid usage, but no reason to crash.
TEST_F(ImageTransferTest, ImpossibleImagesFail)
{
   const VkImageCreateInfo good = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .imageType = VK_IMAGE_TYPE_2D,
      .format = VK_FORMAT_R32G32B32A32_UINT,
      .extent = {64, 64, 1},
      .mipLevels = 7,
      .arrayLayers = 2,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .usage = VK_IMAGE_USAGE_STORAGE_BIT,
   };
   const auto create = [&](auto change) {
      VkImageCreateInfo info = good;
      change(info);
      VkImage image;
      const VkResult result = vkCreateImage(device, &info, nullptr, &image);
      vkDestroyImage(device, image, nullptr);
      const VkDeviceImageMemoryRequirements wanted = {
         .sType = VK_STRUCTURE_TYPE_DEVICE_IMAGE_MEMORY_REQUIREMENTS, .pCreateInfo = &info};
      VkMemoryRequirements2 needed = {.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
      vkGetDeviceImageMemoryRequirements(device, &wanted, &needed);
      EXPECT_EQ(needed.memoryRequirements.size > 0, result == VK_SUCCESS);
      return result;
   };
   using Info = VkImageCreateInfo;
   EXPECT_VK(create([](Info &) {}));
   EXPECT_EQ(create([](Info &i) { i.extent.width = ~0u; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.extent.height = 0; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.extent.depth = 2; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.mipLevels = 8; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.arrayLayers = ~0u; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.samples = VK_SAMPLE_COUNT_4_BIT; }), VK_ERROR_UNKNOWN);
   // 4 GiB of texels exceed the range of shaders' offsets.
   EXPECT_EQ(create([](Info &i) { i.extent = {16384, 16384, 1}; }), VK_ERROR_OUT_OF_DEVICE_MEMORY);
}

TEST_F(ImageTransferTest, ViewsBeyondTheImageFail)
{
   const TestImage flat = make_image({.extent = {20, 12, 1}, .levels = 3, .layers = 5}),
                   volume = make_image({.type = VK_IMAGE_TYPE_3D,
                                        .extent = {8, 8, 8},
                                        .levels = 2,
                                        .flags = VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT});
   const auto create = [&](const TestImage &image, const VkImageSubresourceRange &range) {
      const VkImageViewCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = image.handle,
         .viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
         .format = image.recipe.format,
         .subresourceRange = range,
      };
      VkImageView view;
      const VkResult result = vkCreateImageView(device, &info, nullptr, &view);
      vkDestroyImageView(device, view, nullptr);
      return result;
   };
   constexpr VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT;
   EXPECT_VK(create(flat, {color, 2, 1, 3, 2}));
   EXPECT_VK(create(flat, {color, 1, VK_REMAINING_MIP_LEVELS, 1, VK_REMAINING_ARRAY_LAYERS}));
   EXPECT_EQ(create(flat, {color, 3, 1, 0, 1}), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create(flat, {color, 1, 3, 0, 1}), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create(flat, {color, 0, 1, 4, 2}), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create(flat, {color, 0, 1, 1, 0}), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create(flat, {color, 0, 1, ~0u - 1, 3}), VK_ERROR_UNKNOWN);
   EXPECT_VK(create(volume, {color, 1, 1, 2, 2}));
   EXPECT_EQ(create(volume, {color, 1, 1, 3, 2}), VK_ERROR_UNKNOWN);
}

} // namespace weft::icd_test
