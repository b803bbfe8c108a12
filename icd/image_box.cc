// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/image_box.h"

#include <algorithm>
#include <cstring>

namespace weft {

void copy_box(const BoxCopy &copy)
{
   /* One copy of a slice whose rows touch is faster than a copy of each row. */
   const uint64_t row_bytes = copy.box.row_bytes;
   if (copy.to.row_pitch == row_bytes && copy.from.row_pitch == row_bytes) {
      for (uint32_t slice = 0; slice < copy.box.slices; slice++)
         memcpy(copy.to.row(slice, 0), copy.from.row(slice, 0), copy.box.rows * row_bytes);
      return;
   }
   for (uint32_t slice = 0; slice < copy.box.slices; slice++) {
      for (uint32_t row = 0; row < copy.box.rows; row++)
         memcpy(copy.to.row(slice, row), copy.from.row(slice, row), copy.box.row_bytes);
   }
}

/// Texels, then copies of all that is filled.
void clear_box(const BoxPlace &place, const Box &box, const TexelBytes &texel, uint32_t texel_bytes)
{
   if (box.row_bytes == 0 || box.rows == 0)
      return;
   for (uint32_t slice = 0; slice < box.slices; slice++) {
      uint8_t *first = place.row(slice, 0);
      memcpy(first, texel.data(), texel_bytes);
      for (uint64_t filled = texel_bytes; filled < box.row_bytes; filled *= 2)
         memcpy(first + filled, first, std::min(filled, box.row_bytes - filled));
      for (uint32_t row = 1; row < box.rows; row++)
         memcpy(place.row(slice, row), first, box.row_bytes);
   }
}

BoxPlace place_in(const Image &image, const VkImageSubresourceLayers &layers,
                  const VkOffset3D &wanted)
{
   const VkOffset3D offset = vk_image_sanitize_offset(&image.vk, wanted);
   const ImageLevel &level = image.level(layers.mipLevel, layers.aspectMask);
   const bool is_3d = image.vk.image_type == VK_IMAGE_TYPE_3D;
   const uint32_t first = is_3d ? uint32_t(offset.z) : image.slices_of(layers.baseArrayLayer);
   uint8_t *slice = image.slice(layers.mipLevel, first, layers.aspectMask);
   return {
      .first = slice + uint32_t(offset.y) / image.layout.texel_side * level.row_pitch +
               uint32_t(offset.x) / image.layout.texel_side *
                  uint64_t(image.texel_bytes(layers.aspectMask)),
      .row_pitch = level.row_pitch,
      .slice_pitch = level.slice_pitch,
   };
}

BoxPlace place_in(uint8_t *memory, const vk_image_buffer_layout &layout)
{
   return {memory, layout.row_stride_B, layout.image_stride_B};
}

Box box_of(const Image &image, const VkImageSubresourceLayers &layers, const VkExtent3D &wanted)
{
   const VkExtent3D extent = vk_image_sanitize_extent(&image.vk, wanted);
   return {
      .row_bytes = uint64_t(DIV_ROUND_UP(extent.width, image.layout.texel_side)) *
                   image.texel_bytes(layers.aspectMask),
      .rows = DIV_ROUND_UP(extent.height, image.layout.texel_side),
      .slices = image.vk.image_type == VK_IMAGE_TYPE_3D
                   ? extent.depth
                   : image.slices_of(vk_image_subresource_layer_count(&image.vk, &layers)),
   };
}

BoxCopy copy_between(const Image &from, const Image &to, const VkImageCopy2 &region)
{
   // Slices of a 3D image may become as many layers, and layers slices (VkImageCopy2). The extent
   // counts the source's texels, which may become blocks, and blocks texels.
   return {
      .to = place_in(to, region.dstSubresource, region.dstOffset),
      .from = place_in(from, region.srcSubresource, region.srcOffset),
      .box = box_of(from, region.srcSubresource, region.extent),
   };
}

} // namespace weft
