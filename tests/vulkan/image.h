// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images and texel buffers of Device.

#pragma once

#include "tests/vulkan/buffer.h"

namespace weft::vulkan {

/// A view of all texels in a part of a buffer.
class BufferView {
public:
   BufferView(Device &, const Buffer &, VkFormat, VkDeviceSize offset, VkDeviceSize size);
   ~BufferView();
   BufferView(const BufferView &) = delete;
   BufferView &operator=(const BufferView &) = delete;

   VkBufferView handle() const { return view; }

private:
   Device &device;
   VkBufferView view = VK_NULL_HANDLE;
};

struct ImageRecipe {
   VkFormat format = VK_FORMAT_R32_UINT;
   VkImageViewType type = VK_IMAGE_VIEW_TYPE_2D;
   VkExtent3D extent = {1, 1, 1};
   uint32_t layers = 1;
   VkImageUsageFlags usage = VK_IMAGE_USAGE_STORAGE_BIT; ///< beside copies
};

/// An image of one level in the general layout, with a view of all of it and a sampler of the
/// nearest texel.
class Image {
public:
   Image(Device &, const ImageRecipe &);
   ~Image();
   Image(const Image &) = delete;
   Image &operator=(const Image &) = delete;

   /// Copies all texels, layer by layer and without gaps, from or to a place in a buffer.
   void write(const Buffer &, VkDeviceSize offset);
   void read(const Buffer &, VkDeviceSize offset);

   VkDescriptorImageInfo descriptor() const { return {sampler, view, VK_IMAGE_LAYOUT_GENERAL}; }

private:
   void create();
   void destroy();
   VkBufferImageCopy whole(VkDeviceSize offset) const;
   void run(VkCommandBuffer);

   Device &device;
   const ImageRecipe recipe;
   VkImage image = VK_NULL_HANDLE;
   VkDeviceMemory memory = VK_NULL_HANDLE;
   VkImageView view = VK_NULL_HANDLE;
   VkSampler sampler = VK_NULL_HANDLE;
};

} // namespace weft::vulkan
