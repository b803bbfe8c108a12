// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Blits (Vulkan, "Image Copies With Scaling"). Positions are exact fractions. Colors are filtered
/// in f32; texels that keep their format and are not filtered are copied as they are. Formats have
/// the features of blits with WEFT_QUEUE=graphics only.

#include "icd/command_buffer.h"
#include "icd/image_box.h"
#include "weft_entrypoints.h"

#include "util/format/u_format.h"
#include "vk_format.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace weft;

namespace {

constexpr uint32_t tile_texels = 64; ///< of a row, which are converted together

/// The texels on both sides of a position, and the share of the second one.
struct Taps {
   uint32_t first, second;
   float weight;
};

/// A region in one direction; `begin` may be greater than `end`.
struct Axis {
   int64_t from_begin, from_end, to_begin, to_end;
   uint32_t from_size; ///< of the level

   uint32_t first() const { return uint32_t(std::min(to_begin, to_end)); }
   uint32_t end() const { return uint32_t(std::max(to_begin, to_end)); }
   Taps taps(uint32_t number, bool is_linear) const;
};

struct BlitSide {
   BoxPlace place; ///< of the level; of the region's first layer
   Box box;        ///< all of it
   uint32_t texel_bytes, texel_side;
   enum pipe_format format;
};

struct Blit : Command {
   BlitSide from, to;
   Axis x, y, z; ///< z: slices or layers
   bool is_linear, is_raw;
};

/// Of a texel, as util_format_unpack_rgba() writes it: floats, or integers.
struct Color {
   float components[4];
};

Taps Axis::taps(uint32_t number, bool is_linear) const
{
   // The position is that of the texel's middle, (number + 1/2 - to_begin) * scale.
   int64_t denominator = 2 * (to_end - to_begin);
   int64_t numerator = (2 * (int64_t(number) - to_begin) + 1) * (from_end - from_begin);
   if (denominator < 0) {
      numerator = -numerator;
      denominator = -denominator;
   }
   if (is_linear)
      numerator -= denominator / 2;
   int64_t whole = numerator / denominator, rest = numerator % denominator;
   if (rest < 0) {
      whole--;
      rest += denominator;
   }
   const auto inside = [&](int64_t n) {
      return uint32_t(std::clamp<int64_t>(n, 0, from_size - 1));
   };
   const int64_t first = from_begin + whole;
   if (!is_linear)
      return {inside(first), inside(first), 0};
   return {inside(first), inside(first + 1), float(rest) / float(denominator)};
}

template <size_t bytes>
void gather_texels(uint8_t *to, const uint8_t *row, std::span<const uint32_t> columns)
{
   for (size_t i = 0; i < columns.size(); i++)
      memcpy(to + i * bytes, row + columns[i] * bytes, bytes);
}

void gather(uint8_t *to, const uint8_t *row, std::span<const uint32_t> columns, uint32_t bytes)
{
   switch (bytes) {
   case 1:
      return gather_texels<1>(to, row, columns);
   case 2:
      return gather_texels<2>(to, row, columns);
   case 4:
      return gather_texels<4>(to, row, columns);
   case 8:
      return gather_texels<8>(to, row, columns);
   case 12:
      return gather_texels<12>(to, row, columns);
   default:
      return gather_texels<16>(to, row, columns);
   }
}

/// The colors of texels of one row.
void read_colors(const BlitSide &from, uint32_t slice, uint32_t y,
                 std::span<const uint32_t> columns, Color *colors)
{
   const uint32_t side = from.texel_side;
   const uint8_t *row = from.place.row(slice, y / side);
   if (side > 1) {
      const auto fetch = util_format_fetch_rgba_func(from.format);
      for (size_t i = 0; i < columns.size(); i++)
         fetch(&colors[i], row + columns[i] / side * from.texel_bytes, columns[i] % side, y % side);
      return;
   }
   alignas(16) uint8_t texels[tile_texels * 16];
   gather(texels, row, columns, from.texel_bytes);
   util_format_unpack_rgba(from.format, colors, texels, uint32_t(columns.size()));
}

/// Some texels of a row of the destination, and the columns that they are made of.
struct Tile {
   uint32_t first, count;
   uint32_t firsts[tile_texels], seconds[tile_texels];
   float weights[tile_texels]; ///< of the second ones
};

/// Adds the texels' share of one row. Texels without weight may be infinite.
void add_row(const Blit &blit, const Tile &tile, uint32_t slice, uint32_t y, float weight,
             Color *sums)
{
   if (weight == 0)
      return;
   Color colors[tile_texels];
   for (const bool is_second : {false, true}) {
      read_colors(blit.from, slice, y, {is_second ? tile.seconds : tile.firsts, tile.count},
                  colors);
      for (uint32_t i = 0; i < tile.count; i++) {
         const float share = weight * (is_second ? tile.weights[i] : 1 - tile.weights[i]);
         for (uint32_t c = 0; share != 0 && c < 4; c++)
            sums[i].components[c] += share * colors[i].components[c];
      }
   }
}

void blit_row(const Blit &blit, const Tile &tile, uint32_t slice, uint32_t row)
{
   uint8_t *to = blit.to.place.row(slice, row) + uint64_t(tile.first) * blit.to.texel_bytes;
   const Taps y = blit.y.taps(row, blit.is_linear), z = blit.z.taps(slice, blit.is_linear);
   const std::span columns(tile.firsts, tile.count);
   if (blit.is_raw)
      return gather(to, blit.from.place.row(z.first, y.first), columns, blit.to.texel_bytes);
   Color colors[tile_texels] = {};
   if (blit.is_linear) {
      add_row(blit, tile, z.first, y.first, (1 - z.weight) * (1 - y.weight), colors);
      add_row(blit, tile, z.first, y.second, (1 - z.weight) * y.weight, colors);
      add_row(blit, tile, z.second, y.first, z.weight * (1 - y.weight), colors);
      add_row(blit, tile, z.second, y.second, z.weight * y.weight, colors);
   } else {
      read_colors(blit.from, z.first, y.first, columns, colors);
   }
   util_format_pack_rgba(blit.to.format, to, colors, tile.count);
}

void run_in_rows(const Blit *blit)
{
   for (uint32_t first = blit->x.first(); first < blit->x.end(); first += tile_texels) {
      Tile tile;
      tile.first = first;
      tile.count = std::min(tile_texels, blit->x.end() - first);
      for (uint32_t i = 0; i < tile.count; i++) {
         const Taps x = blit->x.taps(first + i, blit->is_linear);
         tile.firsts[i] = x.first;
         tile.seconds[i] = x.second;
         tile.weights[i] = x.weight;
      }
      for (uint32_t slice = blit->z.first(); slice < blit->z.end(); slice++) {
         for (uint32_t row = blit->y.first(); row < blit->y.end(); row++)
            blit_row(*blit, tile, slice, row);
      }
   }
}

bool run_blit(Queue *, const Command *command)
{
   Blit blit = *static_cast<const Blit *>(command);
   const BoxRows from(blit.from.place, blit.from.box), to(blit.to.place, blit.to.box);
   blit.from.place = from.place();
   blit.to.place = to.place();
   if (!blit.from.place.first || !blit.to.place.first)
      return true;
   run_in_rows(&blit);
   to.write_back();
   return true;
}

BlitSide side_of(const Image &image, const VkImageSubresourceLayers &layers)
{
   return {
      .place = place_in(image, layers, {}),
      .box = box_of(image, layers, image.level(layers.mipLevel).extent),
      .texel_bytes = image.texel_bytes(layers.aspectMask),
      .texel_side = image.layout.texel_side,
      .format = vk_format_to_pipe_format(image.vk.format),
   };
}

/// Without a third dimension, slices are the layers of the region.
Axis slices_of(const Image &from, const Image &to, const VkImageBlit2 &region)
{
   const auto is_3d = [](const Image &image) { return image.vk.image_type == VK_IMAGE_TYPE_3D; };
   const auto layers_of = [](const Image &image, const VkImageSubresourceLayers &layers) {
      return vk_image_subresource_layer_count(&image.vk, &layers);
   };
   Axis axis = {0, layers_of(from, region.srcSubresource), 0, layers_of(to, region.dstSubresource),
                layers_of(from, region.srcSubresource)};
   if (is_3d(from)) {
      axis.from_begin = region.srcOffsets[0].z;
      axis.from_end = region.srcOffsets[1].z;
      axis.from_size = from.level(region.srcSubresource.mipLevel).extent.depth;
   }
   if (is_3d(to)) {
      axis.to_begin = region.dstOffsets[0].z;
      axis.to_end = region.dstOffsets[1].z;
   }
   return axis;
}

void record_blit(CommandBuffer *cmd, const Image &from, const Image &to, const VkImageBlit2 &region,
                 bool is_linear)
{
   auto *blit = record<Blit>(cmd);
   if (!blit)
      return;
   const VkExtent3D &size = from.level(region.srcSubresource.mipLevel).extent;
   blit->run = run_blit;
   blit->from = side_of(from, region.srcSubresource);
   blit->to = side_of(to, region.dstSubresource);
   blit->x = {region.srcOffsets[0].x, region.srcOffsets[1].x, region.dstOffsets[0].x,
              region.dstOffsets[1].x, size.width};
   blit->y = {region.srcOffsets[0].y, region.srcOffsets[1].y, region.dstOffsets[0].y,
              region.dstOffsets[1].y, size.height};
   blit->z = slices_of(from, to, region);
   blit->is_linear = is_linear;
   // Depths and stencils have no filters.
   const bool is_color = region.srcSubresource.aspectMask == VK_IMAGE_ASPECT_COLOR_BIT;
   blit->is_raw = from.vk.format == to.vk.format && !(is_linear && is_color);
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdBlitImage2(VkCommandBuffer commandBuffer,
                                              const VkBlitImageInfo2 *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, from, pInfo->srcImage);
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   for (const VkImageBlit2 &wanted : std::span(pInfo->pRegions, pInfo->regionCount)) {
      u_foreach_bit(aspect, wanted.srcSubresource.aspectMask)
      {
         VkImageBlit2 region = wanted;
         region.srcSubresource.aspectMask = region.dstSubresource.aspectMask = 1u << aspect;
         record_blit(cmd, *from, *to, region, pInfo->filter != VK_FILTER_NEAREST);
      }
   }
}
