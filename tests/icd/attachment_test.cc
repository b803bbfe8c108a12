// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Attachments that are cleared, loaded, stored and resolved, with WEFT_QUEUE=graphics.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr VkImageAspectFlags depth_aspect = VK_IMAGE_ASPECT_DEPTH_BIT,
                             stencil_aspect = VK_IMAGE_ASPECT_STENCIL_BIT;
constexpr uint32_t width = 13, height = 9, layers = 3;

} // namespace

class AttachmentTest : public ImageTest {
protected:
   struct Target {
      TestImage image;
      VkImageView view; ///< of layers 1 and 2
   };

   Target make_target(VkFormat format, VkImageAspectFlags aspects, VkImageUsageFlags usage,
                      VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT)
   {
      Target target = {make_image({.format = format,
                                   .extent = {width, height, 1},
                                   .layers = layers,
                                   .usage = usage,
                                   .samples = samples}),
                       VK_NULL_HANDLE};
      const VkImageViewCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = target.image.handle,
         .viewType = VK_IMAGE_VIEW_TYPE_2D_ARRAY,
         .format = format,
         .subresourceRange = {aspects, 0, 1, 1, 2},
      };
      EXPECT_VK(vkCreateImageView(device, &info, nullptr, &target.view));
      clean_up.push_back([this, view = target.view] { vkDestroyImageView(device, view, nullptr); });
      return target;
   }

   VkBufferImageCopy all(VkImageAspectFlags aspect)
   {
      return {.imageSubresource = {aspect, 0, 0, layers}, .imageExtent = {width, height, 1}};
   }

   VkRenderingAttachmentInfo attachment(const Target &target, VkAttachmentLoadOp load,
                                        const VkClearValue &value)
   {
      return {
         .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
         .imageView = target.view,
         .imageLayout = general,
         .loadOp = load,
         .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
         .clearValue = value,
      };
   }

   /// Fills an aspect with random bytes, which are numbers of any kind.
   TestBuffer fill_aspect(VkCommandBuffer cmd, const Target &target, VkImageAspectFlags aspect,
                          uint32_t bytes)
   {
      const TestBuffer before = make_random_buffer(width * height * layers * bytes);
      const VkBufferImageCopy copy = all(aspect);
      vkCmdCopyBufferToImage(cmd, before.handle, target.image.handle, general, 1, &copy);
      return before;
   }

   TestBuffer read_aspect(VkCommandBuffer cmd, const Target &target, VkImageAspectFlags aspect,
                          uint32_t bytes)
   {
      const TestBuffer after = make_buffer(width * height * layers * bytes);
      memset(after.map, 0xa5, after.size);
      const VkBufferImageCopy copy = all(aspect);
      vkCmdCopyImageToBuffer(cmd, target.image.handle, general, after.handle, 1, &copy);
      return after;
   }

   /// Texels are the first, the second or a third value, by `kind` of a layer, column and row.
   template <typename F>
   void expect_texels(const TestBuffer &after, const TestBuffer &before, uint32_t bytes,
                      const std::vector<uint8_t> &first, const std::vector<uint8_t> &second, F kind)
   {
      for (uint32_t i = 0; i < width * height * layers; ++i) {
         const int k = kind(i / (width * height), i % width, i / width % height);
         const uint8_t *expected = k == 0   ? before.map + i * bytes
                                   : k == 1 ? first.data()
                                            : second.data();
         ASSERT_EQ(memcmp(after.map + i * bytes, expected, bytes), 0) << i << ", kind " << k;
      }
   }
};

TEST_F(AttachmentTest, ColorsDepthsAndStencilsAreClearedAndLoaded)
{
   VkFormatProperties properties;
   vkGetPhysicalDeviceFormatProperties(physical, VK_FORMAT_D32_SFLOAT_S8_UINT, &properties);
   ASSERT_TRUE(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT);
   vkGetPhysicalDeviceFormatProperties(physical, VK_FORMAT_R8G8B8A8_UNORM, &properties);
   ASSERT_TRUE(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT);

   const Target cleared = make_target(VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT,
                                      VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT),
                loaded = make_target(VK_FORMAT_R16G16_UINT, VK_IMAGE_ASPECT_COLOR_BIT,
                                     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT),
                depths = make_target(VK_FORMAT_D32_SFLOAT_S8_UINT, depth_aspect | stencil_aspect,
                                     VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
   VkCommandBuffer cmd = begin();
   const TestBuffer old_cleared = fill_aspect(cmd, cleared, VK_IMAGE_ASPECT_COLOR_BIT, 4),
                    old_loaded = fill_aspect(cmd, loaded, VK_IMAGE_ASPECT_COLOR_BIT, 4),
                    old_depths = fill_aspect(cmd, depths, depth_aspect, 4),
                    old_stencils = fill_aspect(cmd, depths, stencil_aspect, 1);
   const VkRenderingAttachmentInfo colors[] = {
      attachment(cleared, VK_ATTACHMENT_LOAD_OP_CLEAR, {.color = {.float32 = {1, 0, 0.2f, 1}}}),
      {.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO},
      attachment(loaded, VK_ATTACHMENT_LOAD_OP_LOAD, {}),
   };
   const VkRenderingAttachmentInfo depth =
      attachment(depths, VK_ATTACHMENT_LOAD_OP_CLEAR, {.depthStencil = {0.5f, 77}});
   const VkRenderingAttachmentInfo stencil =
      attachment(depths, VK_ATTACHMENT_LOAD_OP_LOAD, {.depthStencil = {0.5f, 77}});
   const VkRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .renderArea = {{2, 1}, {10, 7}},
      .layerCount = 2,
      .colorAttachmentCount = 3,
      .pColorAttachments = colors,
      .pDepthAttachment = &depth,
      .pStencilAttachment = &stencil,
   };
   vkCmdBeginRendering(cmd, &rendering);
   const VkClearAttachment clears[] = {
      {VK_IMAGE_ASPECT_COLOR_BIT, 2, {.color = {.uint32 = {0x1234, 7}}}},
      {stencil_aspect, 0, {.depthStencil = {0.25f, 9}}},
      {VK_IMAGE_ASPECT_COLOR_BIT, 1, {.color = {.uint32 = {5, 5, 5, 5}}}}, // no attachment
   };
   // The second rectangle, which the specification forbids, leaves the attachment.
   const VkClearRect rects[] = {{{{3, 2}, {4, 5}}, 1, 1},
                                {{{width - 1, height - 1}, {5000, 5000}}, 0, 5000}};
   vkCmdClearAttachments(cmd, 3, clears, 2, rects);
   vkCmdEndRendering(cmd);
   const TestBuffer new_cleared = read_aspect(cmd, cleared, VK_IMAGE_ASPECT_COLOR_BIT, 4),
                    new_loaded = read_aspect(cmd, loaded, VK_IMAGE_ASPECT_COLOR_BIT, 4),
                    new_depths = read_aspect(cmd, depths, depth_aspect, 4),
                    new_stencils = read_aspect(cmd, depths, stencil_aspect, 1);
   run(cmd);
   const auto in_area = [](uint32_t layer, uint32_t x, uint32_t y) {
      return int(layer >= 1 && x >= 2 && x < 12 && y >= 1 && y < 8);
   };
   const auto in_rect = [](uint32_t layer, uint32_t x, uint32_t y) {
      return int((layer == 2 && x >= 3 && x < 7 && y >= 2 && y < 7) ||
                 (layer >= 1 && x == width - 1 && y == height - 1));
   };
   expect_texels(new_cleared, old_cleared, 4, {255, 0, 51, 255}, {}, in_area);
   expect_texels(new_depths, old_depths, 4, {0, 0, 0, 0x3f}, {}, in_area);
   expect_texels(new_loaded, old_loaded, 4, {0x34, 0x12, 7, 0}, {}, in_rect);
   expect_texels(new_stencils, old_stencils, 1, {9}, {}, in_rect);
}

/// Integers of 64 bits are no attachments, but may have views in other formats that are.
TEST_F(AttachmentTest, UsageOfViews)
{
   const auto find = [&](VkImageCreateFlags flags) {
      VkImageFormatProperties properties = {};
      return vkGetPhysicalDeviceImageFormatProperties(
         physical, VK_FORMAT_R64_UINT, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_OPTIMAL,
         VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, flags, &properties);
   };
   EXPECT_EQ(find(VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT), VK_ERROR_FORMAT_NOT_SUPPORTED);
   EXPECT_VK(find(VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT));
}

/// Clears change all samples of a layer; each is a slice of memory.
TEST_F(AttachmentTest, Samples)
{
   constexpr uint32_t samples = 4;
   const auto counts = [&](VkFormat format, VkImageUsageFlags usage, VkImageCreateFlags flags = 0,
                           VkImageType type = VK_IMAGE_TYPE_2D,
                           VkImageTiling tiling = VK_IMAGE_TILING_OPTIMAL) {
      VkImageFormatProperties properties = {};
      EXPECT_VK(vkGetPhysicalDeviceImageFormatProperties(physical, format, type, tiling, usage,
                                                         flags, &properties));
      return properties.sampleCounts;
   };
   constexpr VkSampleCountFlags one = VK_SAMPLE_COUNT_1_BIT, all = 0xf; // 1, 2, 4, 8
   constexpr VkFormat rgba = VK_FORMAT_R8G8B8A8_UNORM;
   constexpr VkImageUsageFlags sampled = VK_IMAGE_USAGE_SAMPLED_BIT;
   EXPECT_EQ(counts(rgba, sampled), all);
   EXPECT_EQ(counts(rgba, VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT), all);
   EXPECT_EQ(counts(VK_FORMAT_R32_UINT, sampled), all);
   EXPECT_EQ(counts(VK_FORMAT_D32_SFLOAT, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT), all);
   EXPECT_EQ(counts(rgba, sampled | VK_IMAGE_USAGE_STORAGE_BIT), all);
   EXPECT_EQ(counts(rgba, sampled, VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT), one);
   EXPECT_EQ(counts(rgba, sampled, 0, VK_IMAGE_TYPE_3D), one);
   EXPECT_EQ(counts(rgba, sampled, 0, VK_IMAGE_TYPE_2D, VK_IMAGE_TILING_LINEAR), one);
   EXPECT_EQ(counts(VK_FORMAT_BC1_RGB_UNORM_BLOCK, sampled), one);

   const Target target = make_target(rgba, VK_IMAGE_ASPECT_COLOR_BIT,
                                     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT, VK_SAMPLE_COUNT_4_BIT);
   const auto memory = target.image.memory.as();
   std::ranges::generate(memory, [&] { return uint32_t(random()); });
   std::vector<uint32_t> expected(memory.begin(), memory.end());
   VkCommandBuffer cmd = begin();
   const VkRenderingAttachmentInfo color =
      attachment(target, VK_ATTACHMENT_LOAD_OP_CLEAR, {.color = {.float32 = {1, 0, 0.2f, 1}}});
   const VkRenderingInfo rendering = {
      .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
      .renderArea = {{2, 1}, {10, 7}},
      .layerCount = 1,
      .colorAttachmentCount = 1,
      .pColorAttachments = &color,
   };
   vkCmdBeginRendering(cmd, &rendering);
   const VkClearAttachment clear = {
      VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {.float32 = {0, 1, 0, 0}}}};
   const VkClearRect rect = {{{3, 2}, {4, 5}}, 1, 5000};
   vkCmdClearAttachments(cmd, 1, &clear, 1, &rect);
   vkCmdEndRendering(cmd);
   run(cmd);
   for (uint32_t i = 0; i < layers * samples * width * height; ++i) {
      const uint32_t layer = i / (samples * width * height), x = i % width, y = i / width % height;
      if (layer == 1 && x >= 2 && x < 12 && y >= 1 && y < 8)
         expected[i] = 0xff3300ff;
      else if (layer == 2 && x >= 3 && x < 7 && y >= 2 && y < 7)
         expected[i] = 0x0000ff00;
   }
   EXPECT_TRUE(std::ranges::equal(memory, expected));
}

/// All samples of a texel become their average, or the first one of integers, depths and stencils.
TEST_F(AttachmentTest, Resolves)
{
   constexpr uint32_t plane = width * height;
   const uint32_t samples = 2u << random() % 3;
   struct Case {
      VkFormat format;
      VkImageAspectFlags aspects;
      VkImageUsageFlags usage;
      bool is_average;
   };
   constexpr VkImageUsageFlags color_usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
   for (const Case &c :
        {Case{VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_ASPECT_COLOR_BIT, color_usage, true},
         Case{VK_FORMAT_R8G8B8A8_UINT, VK_IMAGE_ASPECT_COLOR_BIT, color_usage, false},
         Case{VK_FORMAT_D32_SFLOAT, depth_aspect, VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
              false}}) {
      const Target from = make_target(c.format, c.aspects, c.usage, VkSampleCountFlagBits(samples));
      for (const bool by_rendering : {false, true}) {
         if (!by_rendering && c.aspects == depth_aspect)
            continue; // vkCmdResolveImage has colors only
         const Target to = make_target(c.format, c.aspects, c.usage);
         const auto source = from.image.memory.as<uint8_t>(),
                    result = to.image.memory.as<uint8_t>();
         std::ranges::generate(source, [&] { return uint8_t(random()); });
         std::ranges::generate(result, [&] { return uint8_t(random()); });
         const std::vector<uint8_t> old(result.begin(), result.end());
         VkCommandBuffer cmd = begin();
         if (by_rendering) {
            VkRenderingAttachmentInfo info = attachment(from, VK_ATTACHMENT_LOAD_OP_LOAD, {});
            info.resolveMode =
               c.is_average ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_SAMPLE_ZERO_BIT;
            info.resolveImageView = to.view;
            info.resolveImageLayout = general;
            const bool is_color = c.usage == color_usage;
            const VkRenderingInfo rendering = {
               .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
               .renderArea = {{2, 1}, {10, 7}},
               .layerCount = 2,
               .colorAttachmentCount = is_color ? 1u : 0u,
               .pColorAttachments = &info,
               .pDepthAttachment = is_color ? nullptr : &info,
            };
            vkCmdBeginRendering(cmd, &rendering);
            vkCmdEndRendering(cmd);
         } else {
            const VkImageResolve region = {
               .srcSubresource = {c.aspects, 0, 1, 2},
               .srcOffset = {2, 1, 0},
               .dstSubresource = {c.aspects, 0, 1, 2},
               .dstOffset = {2, 1, 0},
               .extent = {10, 7, 1},
            };
            vkCmdResolveImage(cmd, from.image.handle, general, to.image.handle, general, 1,
                              &region);
         }
         run(cmd);
         for (uint32_t i = 0; i < layers * plane * 4; ++i) {
            const uint32_t texel = i / 4, layer = texel / plane, x = texel % width,
                           y = texel / width % height;
            const bool inside = layer >= 1 && x >= 2 && x < 12 && y >= 1 && y < 8;
            int sum = 0;
            for (uint32_t s = 0; s < samples; ++s)
               sum += source[((layer * samples + s) * plane + texel % plane) * 4 + i % 4];
            if (!inside)
               ASSERT_EQ(result[i], old[i]) << c.format << ", " << i;
            else if (c.is_average)
               ASSERT_LE(abs(int(samples) * int(result[i]) - sum), int(samples / 2))
                  << c.format << ", " << i;
            else
               ASSERT_EQ(result[i], source[(layer * samples * plane + texel % plane) * 4 + i % 4])
                  << c.format << ", " << i;
         }
      }
   }
}

/// Mesa's runtime makes renderings of render passes. A secondary command buffer clears attachments
/// that it does not name.
TEST_F(AttachmentTest, RenderPasses)
{
   const Target target = make_target(VK_FORMAT_R32_UINT, VK_IMAGE_ASPECT_COLOR_BIT,
                                     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
   const VkAttachmentDescription description = {
      .format = VK_FORMAT_R32_UINT,
      .samples = VK_SAMPLE_COUNT_1_BIT,
      .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
      .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
      .initialLayout = general,
      .finalLayout = general,
   };
   const VkAttachmentReference reference = {0, general};
   const VkSubpassDescription subpass = {
      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_GRAPHICS,
      .colorAttachmentCount = 1,
      .pColorAttachments = &reference,
   };
   const VkRenderPassCreateInfo pass_info = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO,
      .attachmentCount = 1,
      .pAttachments = &description,
      .subpassCount = 1,
      .pSubpasses = &subpass,
   };
   VkRenderPass pass;
   ASSERT_VK(vkCreateRenderPass(device, &pass_info, nullptr, &pass));
   clean_up.push_back([this, pass] { vkDestroyRenderPass(device, pass, nullptr); });
   const VkFramebufferCreateInfo framebuffer_info = {
      .sType = VK_STRUCTURE_TYPE_FRAMEBUFFER_CREATE_INFO,
      .renderPass = pass,
      .attachmentCount = 1,
      .pAttachments = &target.view,
      .width = width,
      .height = height,
      .layers = 2,
   };
   VkFramebuffer framebuffer;
   ASSERT_VK(vkCreateFramebuffer(device, &framebuffer_info, nullptr, &framebuffer));
   clean_up.push_back([this, framebuffer] { vkDestroyFramebuffer(device, framebuffer, nullptr); });

   const VkCommandBufferAllocateInfo allocation = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = pool,
      .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
      .commandBufferCount = 1,
   };
   VkCommandBuffer secondary;
   ASSERT_VK(vkAllocateCommandBuffers(device, &allocation, &secondary));
   const VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO, .renderPass = pass};
   const VkCommandBufferBeginInfo begin_info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT,
      .pInheritanceInfo = &inheritance,
   };
   ASSERT_VK(vkBeginCommandBuffer(secondary, &begin_info));
   const VkClearAttachment clear = {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {.uint32 = {8}}}};
   const VkClearRect rect = {{{1, 1}, {3, 2}}, 0, 2};
   vkCmdClearAttachments(secondary, 1, &clear, 1, &rect);
   ASSERT_VK(vkEndCommandBuffer(secondary));

   VkCommandBuffer cmd = begin();
   const TestBuffer before = fill_aspect(cmd, target, VK_IMAGE_ASPECT_COLOR_BIT, 4);
   const VkClearValue value = {.color = {.uint32 = {5}}};
   const VkRenderPassBeginInfo pass_begin = {
      .sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO,
      .renderPass = pass,
      .framebuffer = framebuffer,
      .renderArea = {{0, 0}, {width, 4}},
      .clearValueCount = 1,
      .pClearValues = &value,
   };
   vkCmdBeginRenderPass(cmd, &pass_begin, VK_SUBPASS_CONTENTS_SECONDARY_COMMAND_BUFFERS);
   vkCmdExecuteCommands(cmd, 1, &secondary);
   vkCmdEndRenderPass(cmd);
   const TestBuffer after = read_aspect(cmd, target, VK_IMAGE_ASPECT_COLOR_BIT, 4);
   run(cmd);
   expect_texels(after, before, 4, {5, 0, 0, 0}, {8, 0, 0, 0},
                 [](uint32_t layer, uint32_t x, uint32_t y) {
                    const bool in_rect = x >= 1 && x < 4 && y >= 1 && y < 3;
                    return layer == 0 || y >= 4 ? 0 : in_rect ? 2 : 1;
                 });
}

/// Conditions switch clears off, but not load operations (VK_EXT_conditional_rendering).
TEST_F(AttachmentTest, ConditionsSwitchClears)
{
   const auto begin_condition =
      device_function<PFN_vkCmdBeginConditionalRenderingEXT>("vkCmdBeginConditionalRenderingEXT");
   const auto end_condition =
      device_function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT");
   const Target target = make_target(VK_FORMAT_R32_UINT, VK_IMAGE_ASPECT_COLOR_BIT,
                                     VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT);
   const uint32_t values[] = {0, 1};
   const TestBuffer numbers = make_buffer(sizeof(values), values);
   for (const uint32_t number : {0u, 1u}) {
      VkCommandBuffer cmd = begin();
      const TestBuffer before = fill_aspect(cmd, target, VK_IMAGE_ASPECT_COLOR_BIT, 4);
      const VkConditionalRenderingBeginInfoEXT condition = {
         .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
         .buffer = numbers.handle,
         .offset = number * sizeof(uint32_t),
      };
      begin_condition(cmd, &condition);
      const VkRenderingAttachmentInfo color =
         attachment(target, VK_ATTACHMENT_LOAD_OP_CLEAR, {.color = {.uint32 = {5}}});
      const VkRenderingInfo rendering = {
         .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
         .renderArea = {{0, 0}, {width, height}},
         .layerCount = 1,
         .colorAttachmentCount = 1,
         .pColorAttachments = &color,
      };
      vkCmdBeginRendering(cmd, &rendering);
      const VkClearAttachment clear = {VK_IMAGE_ASPECT_COLOR_BIT, 0, {.color = {.uint32 = {8}}}};
      const VkClearRect rect = {{{1, 1}, {3, 2}}, 0, 1};
      vkCmdClearAttachments(cmd, 1, &clear, 1, &rect);
      vkCmdEndRendering(cmd);
      end_condition(cmd);
      const TestBuffer after = read_aspect(cmd, target, VK_IMAGE_ASPECT_COLOR_BIT, 4);
      run(cmd);
      expect_texels(after, before, 4, {5, 0, 0, 0}, {8, 0, 0, 0},
                    [&](uint32_t layer, uint32_t x, uint32_t y) {
                       const bool in_rect = x >= 1 && x < 4 && y >= 1 && y < 3;
                       return layer != 1 ? 0 : number && in_rect ? 2 : 1;
                    });
   }
}

/// Copies and clears of both aspects at once.
TEST_F(AttachmentTest, PlanesOfStencils)
{
   struct Case {
      VkFormat format;
      uint32_t bytes;
      std::vector<uint8_t> one; ///< the depth
   };
   for (const Case &c : {Case{VK_FORMAT_D32_SFLOAT_S8_UINT, 4, {0, 0, 0x80, 0x3f}},
                         Case{VK_FORMAT_D24_UNORM_S8_UINT, 4, {0xff, 0xff, 0xff, 0}},
                         Case{VK_FORMAT_D16_UNORM_S8_UINT, 2, {0xff, 0xff}}}) {
      const auto make = [&] {
         return make_target(c.format, depth_aspect | stencil_aspect,
                            VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT);
      };
      const Target from = make(), to = make();
      VkCommandBuffer cmd = begin();
      const TestBuffer depths = fill_aspect(cmd, from, depth_aspect, c.bytes),
                       stencils = fill_aspect(cmd, from, stencil_aspect, 1);
      const VkClearDepthStencilValue value = {1, 3};
      const VkImageSubresourceRange layer = {depth_aspect | stencil_aspect, 0, 1, 2, 1};
      vkCmdClearDepthStencilImage(cmd, from.image.handle, general, &value, 1, &layer);
      const VkImageSubresourceLayers whole = {depth_aspect | stencil_aspect, 0, 0, layers};
      const VkImageCopy copy = {whole, {}, whole, {}, {width, height, 1}};
      vkCmdCopyImage(cmd, from.image.handle, general, to.image.handle, general, 1, &copy);
      const TestBuffer new_depths = read_aspect(cmd, to, depth_aspect, c.bytes),
                       new_stencils = read_aspect(cmd, to, stencil_aspect, 1);
      run(cmd);
      const auto is_cleared = [](uint32_t l, uint32_t, uint32_t) { return int(l == 2); };
      expect_texels(new_depths, depths, c.bytes, c.one, {}, is_cleared);
      expect_texels(new_stencils, stencils, 1, {3}, {}, is_cleared);
   }
}

TEST_F(AttachmentTest, TheHostCopiesPlanes)
{
   const auto make = [&] {
      return make_target(VK_FORMAT_D32_SFLOAT_S8_UINT, depth_aspect | stencil_aspect,
                         VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
                            VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT);
   };
   const Target from = make(), to = make();
   VkCommandBuffer cmd = begin();
   const TestBuffer depths = fill_aspect(cmd, from, depth_aspect, 4),
                    stencils = fill_aspect(cmd, from, stencil_aspect, 1),
                    old_depths = fill_aspect(cmd, to, depth_aspect, 4),
                    old_stencils = fill_aspect(cmd, to, stencil_aspect, 1);
   run(cmd);
   const VkImageSubresourceLayers layer = {depth_aspect | stencil_aspect, 0, 1, 1};
   const VkImageCopy2 region = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
      .srcSubresource = layer,
      .dstSubresource = layer,
      .extent = {width, height, 1},
   };
   const VkCopyImageToImageInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
      .srcImage = from.image.handle,
      .srcImageLayout = general,
      .dstImage = to.image.handle,
      .dstImageLayout = general,
      .regionCount = 1,
      .pRegions = &region,
   };
   EXPECT_VK(device_function<PFN_vkCopyImageToImageEXT>("vkCopyImageToImageEXT")(device, &info));
   const auto to_memory = device_function<PFN_vkCopyImageToMemoryEXT>("vkCopyImageToMemoryEXT");
   const auto expect_plane = [&](const TestBuffer &old, const TestBuffer &copied,
                                 VkImageAspectFlags aspect, uint32_t bytes) {
      const uint32_t slice = width * height * bytes;
      std::vector<uint8_t> memory(layers * slice, 0xa5);
      const VkImageToMemoryCopyEXT all_layers = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_TO_MEMORY_COPY_EXT,
         .pHostPointer = memory.data(),
         .imageSubresource = {aspect, 0, 0, layers},
         .imageExtent = {width, height, 1},
      };
      const VkCopyImageToMemoryInfoEXT copy = {
         .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_MEMORY_INFO_EXT,
         .srcImage = to.image.handle,
         .srcImageLayout = general,
         .regionCount = 1,
         .pRegions = &all_layers,
      };
      EXPECT_VK(to_memory(device, &copy));
      for (uint32_t l = 0; l < layers; ++l) {
         const TestBuffer &expected = l == 1 ? copied : old;
         EXPECT_EQ(memcmp(memory.data() + l * slice, expected.map + l * slice, slice), 0) << l;
      }
   };
   expect_plane(old_depths, depths, depth_aspect, 4);
   expect_plane(old_stencils, stencils, stencil_aspect, 1);
}

} // namespace weft::icd_test
