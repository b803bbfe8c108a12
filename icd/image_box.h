// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Boxes of texels in images and in other memory: rows of bytes in slices. Copies and clears, by
/// the queue and by the host, are made of boxes. A block of a compressed image counts as a texel.

#pragma once

#include <vulkan/vulkan_core.h>

#include "icd/image.h"

#include <array>
#include <cstdint>

namespace weft {

struct Box {
   uint64_t row_bytes;
   uint32_t rows, slices;
};

struct BoxPlace {
   uint8_t *first;
   uint64_t row_pitch, slice_pitch;

   uint8_t *row(uint32_t slice, uint32_t number) const
   {
      return first + slice * slice_pitch + number * row_pitch;
   }
};

struct BoxCopy {
   BoxPlace to, from;
   Box box;
};

using TexelBytes = std::array<uint8_t, 16>;

void copy_box(const BoxCopy &);
void clear_box(const BoxPlace &, const Box &, const TexelBytes &, uint32_t texel_bytes);

BoxPlace place_in(const Image &, const VkImageSubresourceLayers &, const VkOffset3D &);
/// Memory outside of images, for example in a buffer.
BoxPlace place_in(uint8_t *memory, const vk_image_buffer_layout &);
/// The extent counts texels; at the edge of a level, a block may have fewer.
Box box_of(const Image &, const VkImageSubresourceLayers &, const VkExtent3D &);

/// A copy between images; the region has one aspect of each. The aspects may differ: depths and
/// stencils become colors of their size, and colors become them (VK_KHR_maintenance8).
BoxCopy copy_between(const Image &from, const Image &to, const VkImageCopy2 &);

/// Whether regions may be copied once for the depths and once for the stencils.
inline bool has_two_planes(const Image &image)
{
   return image.vk.aspects == depth_and_stencil;
}

/// Calls f with the region of each aspect.
template <typename F>
void for_each_aspect(const VkImageCopy2 &region, F f)
{
   if (region.srcSubresource.aspectMask != depth_and_stencil)
      return f(region);
   for (const auto aspect : {VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_ASPECT_STENCIL_BIT}) {
      VkImageCopy2 part = region;
      part.srcSubresource.aspectMask = part.dstSubresource.aspectMask = aspect;
      f(part);
   }
}

} // namespace weft
