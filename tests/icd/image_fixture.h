// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Storage images: created, filled, viewed and read back.

#pragma once

#include "tests/icd/texel_fixture.h"

#include <string>
#include <vector>

namespace weft::icd_test {

constexpr VkDescriptorType storage_image = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;

struct ImageRecipe {
   VkFormat format = VK_FORMAT_R32_UINT;
   VkImageType type = VK_IMAGE_TYPE_2D;
   VkExtent3D extent = {1, 1, 1};
   uint32_t levels = 1, layers = 1;
   VkImageCreateFlags flags = 0;
   VkImageTiling tiling = VK_IMAGE_TILING_OPTIMAL;
   VkImageUsageFlags usage = VK_IMAGE_USAGE_STORAGE_BIT; ///< beside copies
   VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
};
/// The only aspect, or the depths beside stencils.
VkImageAspectFlags aspect_of(VkFormat);

struct TestImage {
   ImageRecipe recipe;
   VkImage handle = VK_NULL_HANDLE;
   vulkan::MappedMemory memory;

   /// Texels of a level, without layers.
   VkExtent3D extent(uint32_t level = 0) const;
};

class ImageTest : public TexelTest {
protected:
   TestImage make_image(const ImageRecipe &);
   VkImageView make_image_view(const TestImage &, VkImageViewType, uint32_t level = 0,
                               uint32_t first_layer = 0, uint32_t layers = 1, uint32_t levels = 1,
                               const VkComponentMapping &swizzle = {}, const void *next = nullptr);
   void write_image(VkDescriptorSet, uint32_t binding, VkImageView, uint32_t element = 0);

   /// A level's texels, all layers; rows and slices without gaps.
   VkBufferImageCopy whole_level(const TestImage &, uint32_t level = 0) const;
   void fill(const TestImage &, const TestBuffer &, uint32_t level = 0);
   void read_back(const TestImage &, const TestBuffer &, uint32_t level = 0);

   /// Runs a shader with images at bindings 0, 1, … and storage buffers behind them.
   void run_shader(const std::string &glsl, const std::vector<VkImageView> &,
                   const std::vector<TestBuffer> &, VkExtent3D groups = {1, 1, 1});
};

} // namespace weft::icd_test
