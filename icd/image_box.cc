// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/image_box.h"

#include "icd/repeat_bytes.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>

namespace weft {

namespace {

/// The place of a part of a box that begins at a row and at bytes of it, and its largest size.
struct Part {
   BoxPlace place;
   uint64_t bytes, rows;
};

Part part_of(const BoxPlace &place, uint32_t row, uint64_t bytes)
{
   const BoxPlace moved = place.moved(0, row, bytes);
   if (!place.is_tiled())
      return {moved, UINT64_MAX, UINT64_MAX};
   const uint64_t x = moved.bytes_before % place.tile_row_bytes,
                  y = moved.rows_before % place.tile_rows;
   uint8_t *tile = place.first + moved.rows_before / place.tile_rows * place.row_pitch +
                   moved.bytes_before / place.tile_row_bytes * tile_bytes;
   return {{tile + y * place.tile_row_bytes + x, place.tile_row_bytes, place.slice_pitch},
           place.tile_row_bytes - x,
           place.tile_rows - y};
}

/// Calls f(row, bytes, size) for the parts of a box that lie in one tile of all places.
template <typename F>
void for_each_part(const Box &box, std::initializer_list<const BoxPlace *> places, F f)
{
   Box part = {0, 0, box.slices};
   for (uint32_t row = 0; row < box.rows; row += part.rows) {
      for (uint64_t bytes = 0; bytes < box.row_bytes; bytes += part.row_bytes) {
         uint64_t rows = box.rows - row;
         part.row_bytes = box.row_bytes - bytes;
         for (const BoxPlace *place : places) {
            const Part largest = part_of(*place, row, bytes);
            rows = std::min(rows, largest.rows);
            part.row_bytes = std::min(part.row_bytes, largest.bytes);
         }
         part.rows = uint32_t(rows);
         f(row, bytes, part);
      }
   }
}

void fill_box(const BoxPlace &place, const Box &box, const RepeatedBytes &texels)
{
   if (box.row_bytes == 0 || box.rows == 0)
      return;
   if (place.is_tiled()) {
      for_each_part(box, {&place}, [&](uint32_t row, uint64_t bytes, const Box &part) {
         fill_box(part_of(place, row, bytes).place, part, texels);
      });
      return;
   }
   for (uint32_t slice = 0; slice < box.slices; slice++) {
      for (uint32_t row = 0; row < box.rows; row++)
         texels.fill(place.row(slice, row), box.row_bytes);
   }
}

} // namespace

BoxPlace BoxPlace::moved(uint32_t slice, uint32_t row, uint64_t bytes) const
{
   BoxPlace place = *this;
   place.first += slice * slice_pitch;
   if (is_tiled()) {
      place.rows_before += row;
      place.bytes_before += bytes;
   } else {
      place.first += row * row_pitch + bytes;
   }
   return place;
}

void copy_box(const BoxCopy &copy)
{
   if (copy.to.is_tiled() || copy.from.is_tiled()) {
      if (copy.box.row_bytes == 0)
         return;
      for_each_part(copy.box, {&copy.to, &copy.from},
                    [&](uint32_t row, uint64_t bytes, const Box &part) {
                       copy_box({part_of(copy.to, row, bytes).place,
                                 part_of(copy.from, row, bytes).place, part});
                    });
      return;
   }
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

void clear_box(const BoxPlace &place, const Box &box, const TexelBytes &texel, uint32_t texel_bytes)
{
   fill_box(place, box, RepeatedBytes(texel.data(), texel_bytes));
}

BoxRows::BoxRows(const BoxPlace &place, const Box &whole) : origin(place), rows(place), box(whole)
{
   if (!place.is_tiled())
      return;
   const uint64_t slice_bytes = box.rows * box.row_bytes;
   copy.reset(new (std::nothrow) uint8_t[box.slices * slice_bytes]);
   rows = {copy.get(), box.row_bytes, slice_bytes};
   if (copy)
      copy_box({rows, origin, box});
}

void BoxRows::write_back() const
{
   if (copy)
      copy_box({origin, rows, box});
}

BoxPlace place_of_level(const Image &image, uint32_t level, uint32_t slice,
                        VkImageAspectFlags aspect)
{
   const ImageLevel &layout = image.level(level, aspect);
   BoxPlace place = {image.slice(level, slice, aspect), layout.row_pitch, layout.slice_pitch};
   const Tiles &tiles = image.layout.tiles;
   if (level < tiles.levels) {
      place.tile_row_bytes = image.texel_bytes(aspect) << tiles.width_bits;
      place.tile_rows = 1u << tiles.height_bits;
   }
   return place;
}

BoxPlace place_in(const Image &image, const VkImageSubresourceLayers &layers,
                  const VkOffset3D &wanted)
{
   const VkOffset3D offset = vk_image_sanitize_offset(&image.vk, wanted);
   const bool is_3d = image.vk.image_type == VK_IMAGE_TYPE_3D;
   const uint32_t first = is_3d ? uint32_t(offset.z) : image.slices_of(layers.baseArrayLayer);
   const uint32_t side = image.layout.texel_side;
   return place_of_level(image, layers.mipLevel, first, layers.aspectMask)
      .moved(0, uint32_t(offset.y) / side,
             uint32_t(offset.x) / side * uint64_t(image.texel_bytes(layers.aspectMask)));
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
