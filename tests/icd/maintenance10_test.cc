// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_maintenance10 with WEFT_QUEUE=graphics: resolves of depths and stencils, and the end of a
/// rendering.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <vector>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr VkImageAspectFlags depth_aspect = VK_IMAGE_ASPECT_DEPTH_BIT,
                             stencil_aspect = VK_IMAGE_ASPECT_STENCIL_BIT;
constexpr uint32_t width = 13, height = 9, layers = 3, samples = 4;

} // namespace

class Maintenance10Test : public ImageTest {
protected:
   TestImage make_depths(VkFormat format, VkSampleCountFlagBits count)
   {
      return make_image({.format = format,
                         .extent = {width, height, 1},
                         .layers = layers,
                         .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                         .samples = count});
   }

   /// Of layer 1.
   VkImageView make_view_of(const TestImage &image, VkImageAspectFlags aspects)
   {
      const VkImageViewCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = image.handle,
         .viewType = VK_IMAGE_VIEW_TYPE_2D,
         .format = image.recipe.format,
         .subresourceRange = {aspects, 0, 1, 1, 1},
      };
      VkImageView view = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateImageView(device, &info, nullptr, &view));
      clean_up.push_back([this, view] { vkDestroyImageView(device, view, nullptr); });
      return view;
   }

   /// Resolves a part of layer 1 to layer 2.
   void resolve(VkCommandBuffer cmd, const TestImage &from, const TestImage &to,
                VkImageAspectFlags aspects)
   {
      const VkResolveImageModeInfoKHR mode = {
         .sType = VK_STRUCTURE_TYPE_RESOLVE_IMAGE_MODE_INFO_KHR,
         .resolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT,
         .stencilResolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT,
      };
      const VkImageResolve2 region = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_RESOLVE_2,
         .srcSubresource = {aspects, 0, 1, 1},
         .srcOffset = {2, 1, 0},
         .dstSubresource = {aspects, 0, 2, 1},
         .dstOffset = {3, 4, 0},
         .extent = {8, 5, 1},
      };
      const VkResolveImageInfo2 info = {
         .sType = VK_STRUCTURE_TYPE_RESOLVE_IMAGE_INFO_2,
         .pNext = &mode,
         .srcImage = from.handle,
         .srcImageLayout = general,
         .dstImage = to.handle,
         .dstImageLayout = general,
         .regionCount = 1,
         .pRegions = &region,
      };
      vkCmdResolveImage2(cmd, &info);
   }

   VkFormatFeatureFlags2 features_of(VkFormat format)
   {
      VkFormatProperties3 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3};
      VkFormatProperties2 whole = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2,
                                   .pNext = &properties};
      vkGetPhysicalDeviceFormatProperties2(physical, format, &whole);
      return properties.optimalTilingFeatures;
   }
};

TEST_F(Maintenance10Test, Promises)
{
   VkPhysicalDeviceMaintenance10FeaturesKHR maintenance = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_10_FEATURES_KHR};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &maintenance};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(maintenance.maintenance10);
   VkPhysicalDeviceMaintenance10PropertiesKHR promised = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_10_PROPERTIES_KHR};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &promised};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_TRUE(promised.rgba4OpaqueBlackSwizzled);
   EXPECT_TRUE(promised.resolveSrgbFormatAppliesTransferFunction);
   EXPECT_FALSE(promised.resolveSrgbFormatSupportsTransferFunctionControl);
}

TEST_F(Maintenance10Test, AspectsThatQueuesWithoutGraphicsCopy)
{
   constexpr VkFormatFeatureFlags2 depths =
                                      VK_FORMAT_FEATURE_2_DEPTH_COPY_ON_COMPUTE_QUEUE_BIT_KHR |
                                      VK_FORMAT_FEATURE_2_DEPTH_COPY_ON_TRANSFER_QUEUE_BIT_KHR,
                                   stencils =
                                      VK_FORMAT_FEATURE_2_STENCIL_COPY_ON_COMPUTE_QUEUE_BIT_KHR |
                                      VK_FORMAT_FEATURE_2_STENCIL_COPY_ON_TRANSFER_QUEUE_BIT_KHR;
   const auto copies = [&](VkFormat format) { return features_of(format) & (depths | stencils); };
   EXPECT_EQ(copies(VK_FORMAT_D32_SFLOAT), depths);
   EXPECT_EQ(copies(VK_FORMAT_S8_UINT), stencils);
   EXPECT_EQ(copies(VK_FORMAT_D24_UNORM_S8_UINT), depths | stencils);
   EXPECT_EQ(copies(VK_FORMAT_R32_SFLOAT), 0u);
}

/// The first sample of each texel, of images with one aspect.
TEST_F(Maintenance10Test, ResolvesOfOneAspect)
{
   struct Case {
      VkFormat format;
      VkImageAspectFlags aspect;
      uint32_t bytes;
   };
   for (const Case &c :
        {Case{VK_FORMAT_D32_SFLOAT, depth_aspect, 4}, Case{VK_FORMAT_D16_UNORM, depth_aspect, 2},
         Case{VK_FORMAT_S8_UINT, stencil_aspect, 1}}) {
      const TestImage from = make_depths(c.format, VK_SAMPLE_COUNT_4_BIT),
                      to = make_depths(c.format, VK_SAMPLE_COUNT_1_BIT);
      const auto source = from.memory.as<uint8_t>(), result = to.memory.as<uint8_t>();
      std::ranges::generate(source, [&] { return uint8_t(random()); });
      std::ranges::generate(result, [&] { return uint8_t(random()); });
      std::vector<uint8_t> expected(result.begin(), result.end());
      const auto place = [&](uint32_t slice, uint32_t x, uint32_t y) {
         return ((slice * height + y) * width + x) * c.bytes;
      };
      for (uint32_t y = 0; y < 5; ++y)
         std::copy_n(source.data() + place(1 * samples, 2, 1 + y), 8 * c.bytes,
                     expected.data() + place(2, 3, 4 + y));
      VkCommandBuffer cmd = begin();
      resolve(cmd, from, to, c.aspect);
      run(cmd);
      EXPECT_TRUE(std::ranges::equal(result, expected)) << c.format;
   }
}

TEST_F(Maintenance10Test, TheEndOfARenderingResolves)
{
   const TestImage from = make_depths(VK_FORMAT_D32_SFLOAT, VK_SAMPLE_COUNT_4_BIT),
                   to = make_depths(VK_FORMAT_D32_SFLOAT, VK_SAMPLE_COUNT_1_BIT);
   const VkRenderingAttachmentInfo attachment = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .imageView = make_view_of(from, depth_aspect),
      .imageLayout = general,
      .resolveMode = VK_RESOLVE_MODE_SAMPLE_ZERO_BIT,
      .resolveImageView = make_view_of(to, depth_aspect),
      .resolveImageLayout = general,
      .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .clearValue = {.depthStencil = {0.25f, 0}},
   };
   const VkRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .renderArea = {{0, 0}, {width, height}},
      .layerCount = 1,
      .pDepthAttachment = &attachment,
   };
   const auto result = to.memory.as();
   std::ranges::generate(result, [&] { return uint32_t(random()); });
   std::vector<uint32_t> expected(result.begin(), result.end());
   std::fill_n(expected.begin() + width * height, width * height, 0x3e800000);
   VkCommandBuffer cmd = begin();
   vkCmdBeginRendering(cmd, &rendering);
   device_function<PFN_vkCmdEndRendering2KHR>("vkCmdEndRendering2KHR")(cmd, nullptr);
   run(cmd);
   EXPECT_TRUE(std::ranges::equal(result, expected));
}

/// A region may name both aspects, or one of them. A rendering clears the image before.
TEST_F(Maintenance10Test, ResolvesOfBothAspects)
{
   constexpr VkFormat format = VK_FORMAT_D32_SFLOAT_S8_UINT;
   const TestImage from = make_depths(format, VK_SAMPLE_COUNT_4_BIT);
   const VkImageView view = make_view_of(from, depth_aspect | stencil_aspect);
   const VkRenderingAttachmentFlagsInfoKHR flags = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_FLAGS_INFO_KHR,
      .flags = VK_RENDERING_ATTACHMENT_INPUT_ATTACHMENT_FEEDBACK_BIT_KHR,
   };
   const VkRenderingAttachmentInfo attachment = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
      .pNext = &flags,
      .imageView = view,
      .imageLayout = general,
      .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .clearValue = {.depthStencil = {0.5f, 77}},
   };
   const VkRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .flags = VK_RENDERING_LOCAL_READ_CONCURRENT_ACCESS_CONTROL_BIT_KHR,
      .renderArea = {{0, 0}, {width, height}},
      .layerCount = 1,
      .pDepthAttachment = &attachment,
      .pStencilAttachment = &attachment,
   };
   const VkRenderingEndInfoKHR end = {.sType = VK_STRUCTURE_TYPE_RENDERING_END_INFO_KHR};
   for (const VkImageAspectFlags aspects :
        {depth_aspect, stencil_aspect, depth_aspect | stencil_aspect}) {
      const TestImage to = make_depths(format, VK_SAMPLE_COUNT_1_BIT);
      VkCommandBuffer cmd = begin();
      vkCmdBeginRendering(cmd, &rendering);
      device_function<PFN_vkCmdEndRendering2KHR>("vkCmdEndRendering2KHR")(cmd, &end);
      const auto copy_of = [&](VkImageAspectFlags aspect) {
         return VkBufferImageCopy{.imageSubresource = {aspect, 0, 2, 1},
                                  .imageExtent = {width, height, 1}};
      };
      const VkBufferImageCopy depths = copy_of(depth_aspect), stencils = copy_of(stencil_aspect);
      const TestBuffer old_depths = make_random_buffer(width * height * 4),
                       old_stencils = make_random_buffer(width * height),
                       new_depths = make_random_buffer(old_depths.size),
                       new_stencils = make_random_buffer(old_stencils.size);
      vkCmdCopyBufferToImage(cmd, old_depths.handle, to.handle, general, 1, &depths);
      vkCmdCopyBufferToImage(cmd, old_stencils.handle, to.handle, general, 1, &stencils);
      resolve(cmd, from, to, aspects);
      vkCmdCopyImageToBuffer(cmd, to.handle, general, new_depths.handle, 1, &depths);
      vkCmdCopyImageToBuffer(cmd, to.handle, general, new_stencils.handle, 1, &stencils);
      run(cmd);
      for (uint32_t i = 0; i < width * height; ++i) {
         const uint32_t x = i % width, y = i / width;
         const bool inside = x >= 3 && x < 11 && y >= 4;
         ASSERT_EQ(new_depths.as()[i],
                   inside && aspects & depth_aspect ? 0x3f000000 : old_depths.as()[i])
            << aspects << ", " << i;
         ASSERT_EQ(new_stencils.map[i],
                   inside && aspects & stencil_aspect ? 77 : old_stencils.map[i])
            << aspects << ", " << i;
      }
   }
}

} // namespace weft::icd_test
