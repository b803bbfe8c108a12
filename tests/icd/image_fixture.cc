// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/image_fixture.h"

#include "tests/vulkan/descriptor.h"

#include <algorithm>

namespace weft::icd_test {

VkImageAspectFlags aspect_of(VkFormat format)
{
   switch (format) {
   case VK_FORMAT_S8_UINT:
      return VK_IMAGE_ASPECT_STENCIL_BIT;
   case VK_FORMAT_D16_UNORM:
   case VK_FORMAT_X8_D24_UNORM_PACK32:
   case VK_FORMAT_D32_SFLOAT:
   case VK_FORMAT_D16_UNORM_S8_UINT:
   case VK_FORMAT_D24_UNORM_S8_UINT:
   case VK_FORMAT_D32_SFLOAT_S8_UINT:
      return VK_IMAGE_ASPECT_DEPTH_BIT;
   default:
      return VK_IMAGE_ASPECT_COLOR_BIT;
   }
}

VkExtent3D TestImage::extent(uint32_t level) const
{
   const auto at_level = [&](uint32_t size) { return std::max(size >> level, 1u); };
   return {at_level(recipe.extent.width), at_level(recipe.extent.height),
           at_level(recipe.extent.depth)};
}

TestImage ImageTest::make_image(const ImageRecipe &recipe)
{
   TestImage image = {recipe, VK_NULL_HANDLE, {}};
   const VkImageCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
      .flags = recipe.flags,
      .imageType = recipe.type,
      .format = recipe.format,
      .extent = recipe.extent,
      .mipLevels = recipe.levels,
      .arrayLayers = recipe.layers,
      .samples = recipe.samples,
      .tiling = recipe.tiling,
      .usage = recipe.usage | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
   };
   EXPECT_VK(vkCreateImage(device, &info, nullptr, &image.handle));
   VkMemoryRequirements needed;
   vkGetImageMemoryRequirements(device, image.handle, &needed);
   image.memory = vulkan::allocate_mapped(device, needed, 0);
   EXPECT_VK(vkBindImageMemory(device, image.handle, image.memory.memory, 0));
   clean_up.push_back([this, image] {
      vkDestroyImage(device, image.handle, nullptr);
      vkFreeMemory(device, image.memory.memory, nullptr);
   });
   return image;
}

VkImageView ImageTest::make_image_view(const TestImage &image, VkImageViewType type, uint32_t level,
                                       uint32_t first_layer, uint32_t layers, uint32_t levels,
                                       const VkComponentMapping &swizzle, const void *next)
{
   const VkImageViewCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
      .pNext = next,
      .image = image.handle,
      .viewType = type,
      .format = image.recipe.format,
      .components = swizzle,
      .subresourceRange = {aspect_of(image.recipe.format), level, levels, first_layer, layers},
   };
   VkImageView view = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateImageView(device, &info, nullptr, &view));
   clean_up.push_back([this, view] { vkDestroyImageView(device, view, nullptr); });
   return view;
}

void ImageTest::write_image(VkDescriptorSet set, uint32_t binding, VkImageView view,
                            uint32_t element)
{
   vulkan::write_descriptor(device, set, binding, storage_image,
                            {.image = {VK_NULL_HANDLE, view, VK_IMAGE_LAYOUT_GENERAL}}, element);
}

VkBufferImageCopy ImageTest::whole_level(const TestImage &image, uint32_t level) const
{
   return {
      .imageSubresource = {aspect_of(image.recipe.format), level, 0, image.recipe.layers},
      .imageExtent = image.extent(level),
   };
}

void ImageTest::fill(const TestImage &image, const TestBuffer &from, uint32_t level)
{
   const VkBufferImageCopy copy = whole_level(image, level);
   VkCommandBuffer cmd = begin();
   vkCmdCopyBufferToImage(cmd, from.handle, image.handle, VK_IMAGE_LAYOUT_GENERAL, 1, &copy);
   run(cmd);
}

void ImageTest::read_back(const TestImage &image, const TestBuffer &to, uint32_t level)
{
   const VkBufferImageCopy copy = whole_level(image, level);
   VkCommandBuffer cmd = begin();
   vkCmdCopyImageToBuffer(cmd, image.handle, VK_IMAGE_LAYOUT_GENERAL, to.handle, 1, &copy);
   run(cmd);
}

void ImageTest::run_shader(const std::string &glsl, const std::vector<VkImageView> &views,
                           const std::vector<TestBuffer> &buffers, VkExtent3D groups)
{
   std::vector<VkDescriptorSetLayoutBinding> bindings;
   for (uint32_t i = 0; i < views.size() + buffers.size(); ++i)
      bindings.push_back(
         binding(i, i < views.size() ? storage_image : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER));
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout(bindings)};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(glsl, recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   for (uint32_t i = 0; i < views.size(); ++i)
      write_image(set, i, views[i]);
   for (uint32_t i = 0; i < buffers.size(); ++i)
      write_buffer(set, uint32_t(views.size()) + i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers[i]);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, groups.width, groups.height, groups.depth);
   run(cmd);
}

} // namespace weft::icd_test
