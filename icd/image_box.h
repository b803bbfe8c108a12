// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Boxes of texels in images and in other memory: rows of bytes in slices. Copies and clears, by
/// the queue and by the host, are made of boxes. A block of a compressed image counts as a texel.

#pragma once

#include <vulkan/vulkan_core.h>

#include "icd/image.h"

#include <array>
#include <cstdint>
#include <memory>

namespace weft {

struct Box {
   uint64_t row_bytes;
   uint32_t rows, slices;
};

struct BoxPlace {
   uint8_t *first;
   uint64_t row_pitch, slice_pitch;
   /// In tiles (Tiles), `first` is that of the level's first slice in the box, and the box begins
   /// behind bytes of a row and behind rows. Tiles have no rows of the whole box.
   uint32_t tile_row_bytes = 0, tile_rows = 0; ///< 0: no tiles
   uint64_t bytes_before = 0, rows_before = 0;

   bool is_tiled() const { return tile_rows > 0; }
   uint8_t *row(uint32_t slice, uint32_t number) const
   {
      return first + slice * slice_pitch + number * row_pitch;
   }
   BoxPlace moved(uint32_t slice, uint32_t row, uint64_t bytes) const;
};

struct BoxCopy {
   BoxPlace to, from;
   Box box;
};

using TexelBytes = std::array<uint8_t, 32>;

void copy_box(const BoxCopy &);
void clear_box(const BoxPlace &, const Box &, const TexelBytes &, uint32_t texel_bytes);

/// The slices of a level from one on.
BoxPlace place_of_level(const Image &, uint32_t level, uint32_t slice, VkImageAspectFlags);
BoxPlace place_in(const Image &, const VkImageSubresourceLayers &, const VkOffset3D &);
/// Memory outside of images, for example in a buffer.
BoxPlace place_in(uint8_t *memory, const vk_image_buffer_layout &);
/// The extent counts texels; at the edge of a level, a block may have fewer.
Box box_of(const Image &, const VkImageSubresourceLayers &, const VkExtent3D &);

/// A copy between images; the region has one aspect of each. The aspects may differ: depths and
/// stencils become colors of their size, and colors become them (VK_KHR_maintenance8).
BoxCopy copy_between(const Image &from, const Image &to, const VkImageCopy2 &);

/// A box as rows without gaps, for work on its texels; a copy if the box is in tiles.
class BoxRows {
public:
   BoxRows(const BoxPlace &, const Box &);
   BoxRows(const BoxRows &) = delete;

   /// Null if there was no memory for the copy.
   const BoxPlace &place() const { return rows; }
   void write_back() const;

private:
   BoxPlace origin, rows;
   Box box;
   std::unique_ptr<uint8_t[]> copy;
};

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
