// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies and clears of images. Recording reduces all of them to boxes: rows of bytes in slices. A
/// block of a compressed image counts as a texel.

#include "icd/buffer.h"
#include "icd/command_buffer.h"
#include "icd/image.h"
#include "icd/log.h"
#include "weft_entrypoints.h"

#include "util/format/u_format.h"
#include "vk_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

using namespace weft;

namespace {

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

struct CopyBoxes : Command {
   uint32_t count;

   BoxCopy *boxes() { return reinterpret_cast<BoxCopy *>(this + 1); }
   const BoxCopy *boxes() const { return reinterpret_cast<const BoxCopy *>(this + 1); }
};

using TexelBytes = std::array<uint8_t, 16>;

struct ClearBox : Command {
   BoxPlace place;
   Box box;
   uint32_t texel_bytes;
   TexelBytes texel;
};

bool run_box_copy(Queue *, const Command *command)
{
   auto *copy = static_cast<const CopyBoxes *>(command);
   for (uint32_t i = 0; i < copy->count; i++) {
      const BoxCopy &c = copy->boxes()[i];
      for (uint32_t slice = 0; slice < c.box.slices; slice++) {
         for (uint32_t row = 0; row < c.box.rows; row++)
            memcpy(c.to.row(slice, row), c.from.row(slice, row), c.box.row_bytes);
      }
   }
   return true;
}

bool run_box_clear(Queue *, const Command *command)
{
   auto *clear = static_cast<const ClearBox *>(command);
   for (uint32_t slice = 0; slice < clear->box.slices; slice++) {
      for (uint32_t row = 0; row < clear->box.rows; row++) {
         uint8_t *to = clear->place.row(slice, row);
         for (uint64_t byte = 0; byte < clear->box.row_bytes; byte += clear->texel_bytes)
            memcpy(to + byte, clear->texel.data(), clear->texel_bytes);
      }
   }
   return true;
}

BoxPlace place_in(const Image &image, const VkImageSubresourceLayers &layers,
                  const VkOffset3D &wanted)
{
   const VkOffset3D offset = vk_image_sanitize_offset(&image.vk, wanted);
   const ImageLevel &level = image.level(layers.mipLevel, layers.aspectMask);
   const bool is_3d = image.vk.image_type == VK_IMAGE_TYPE_3D;
   uint8_t *slice = image.slice(layers.mipLevel, is_3d ? uint32_t(offset.z) : layers.baseArrayLayer,
                                layers.aspectMask);
   return {
      .first = slice + uint32_t(offset.y) / image.layout.texel_side * level.row_pitch +
               uint32_t(offset.x) / image.layout.texel_side *
                  uint64_t(image.texel_bytes(layers.aspectMask)),
      .row_pitch = level.row_pitch,
      .slice_pitch = level.slice_pitch,
   };
}

BoxPlace place_in(const Buffer &buffer, uint64_t offset, const vk_image_buffer_layout &layout)
{
   return {buffer.address + offset, layout.row_stride_B, layout.image_stride_B};
}

/// The extent counts texels; at the edge of a level, a block may have fewer.
Box box_of(const Image &image, const VkImageSubresourceLayers &layers, const VkExtent3D &wanted)
{
   const VkExtent3D extent = vk_image_sanitize_extent(&image.vk, wanted);
   return {
      .row_bytes = uint64_t(DIV_ROUND_UP(extent.width, image.layout.texel_side)) *
                   image.texel_bytes(layers.aspectMask),
      .rows = DIV_ROUND_UP(extent.height, image.layout.texel_side),
      .slices = image.vk.image_type == VK_IMAGE_TYPE_3D
                   ? extent.depth
                   : vk_image_subresource_layer_count(&image.vk, &layers),
   };
}

/// Records one copy for each region; box_copy(region) is its box.
template <typename Region, typename F>
void record_copies(CommandBuffer *cmd, uint32_t count, const Region *regions, F box_copy)
{
   auto *copy = record<CopyBoxes>(cmd, count * sizeof(BoxCopy));
   if (!copy)
      return;
   copy->run = run_box_copy;
   copy->count = count;
   std::transform(regions, regions + count, copy->boxes(), box_copy);
}

void record_clears(CommandBuffer *cmd, const Image &image, const TexelBytes &texel,
                   std::span<const VkImageSubresourceRange> ranges, VkImageAspectFlags aspect)
{
   const bool is_3d = image.vk.image_type == VK_IMAGE_TYPE_3D;
   for (const VkImageSubresourceRange &range : ranges) {
      if (!(range.aspectMask & aspect))
         continue;
      const uint32_t levels = vk_image_subresource_level_count(&image.vk, &range);
      for (uint32_t l = range.baseMipLevel; l < range.baseMipLevel + levels; l++) {
         const ImageLevel &level = image.level(l, aspect);
         auto *clear = record<ClearBox>(cmd);
         if (!clear)
            return;
         clear->run = run_box_clear;
         clear->place = {image.slice(l, is_3d ? 0 : range.baseArrayLayer, aspect), level.row_pitch,
                         level.slice_pitch};
         clear->box = {level.row_pitch, level.extent.height,
                       is_3d ? level.slices : vk_image_subresource_layer_count(&image.vk, &range)};
         clear->texel_bytes = image.texel_bytes(aspect);
         clear->texel = texel;
      }
   }
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyBufferToImage2(VkCommandBuffer commandBuffer,
                                                      const VkCopyBufferToImageInfo2 *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Buffer, from, pInfo->srcBuffer);
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   record_copies(cmd, pInfo->regionCount, pInfo->pRegions, [&](const VkBufferImageCopy2 &r) {
      return BoxCopy{
         .to = place_in(*to, r.imageSubresource, r.imageOffset),
         .from = place_in(*from, r.bufferOffset, vk_image_buffer_copy_layout(&to->vk, &r)),
         .box = box_of(*to, r.imageSubresource, r.imageExtent),
      };
   });
}

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyImageToBuffer2(VkCommandBuffer commandBuffer,
                                                      const VkCopyImageToBufferInfo2 *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, from, pInfo->srcImage);
   VK_FROM_HANDLE(Buffer, to, pInfo->dstBuffer);
   record_copies(cmd, pInfo->regionCount, pInfo->pRegions, [&](const VkBufferImageCopy2 &r) {
      return BoxCopy{
         .to = place_in(*to, r.bufferOffset, vk_image_buffer_copy_layout(&from->vk, &r)),
         .from = place_in(*from, r.imageSubresource, r.imageOffset),
         .box = box_of(*from, r.imageSubresource, r.imageExtent),
      };
   });
}

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyImage2(VkCommandBuffer commandBuffer,
                                              const VkCopyImageInfo2 *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, from, pInfo->srcImage);
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   const auto box_copy = [&](const VkImageCopy2 &r) {
      // Slices of a 3D image may become layers, and layers slices (VkImageCopy2). The extent counts
      // the slices; the other image's layers are as many. It counts the source's texels, which may
      // become blocks, and blocks texels.
      Box box = box_of(*from, r.srcSubresource, r.extent);
      if (to->vk.image_type == VK_IMAGE_TYPE_3D)
         box.slices = r.extent.depth;
      return BoxCopy{
         .to = place_in(*to, r.dstSubresource, r.dstOffset),
         .from = place_in(*from, r.srcSubresource, r.srcOffset),
         .box = box,
      };
   };
   if (from->vk.aspects != depth_and_stencil)
      return record_copies(cmd, pInfo->regionCount, pInfo->pRegions, box_copy);
   for (uint32_t i = 0; i < pInfo->regionCount; i++) {
      for (const auto aspect : {VK_IMAGE_ASPECT_DEPTH_BIT, VK_IMAGE_ASPECT_STENCIL_BIT}) {
         VkImageCopy2 region = pInfo->pRegions[i];
         if (!(region.srcSubresource.aspectMask & aspect))
            continue;
         region.srcSubresource.aspectMask = region.dstSubresource.aspectMask = aspect;
         record_copies(cmd, 1, &region, box_copy);
      }
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdClearColorImage(VkCommandBuffer commandBuffer, VkImage _image,
                                                   VkImageLayout, const VkClearColorValue *pColor,
                                                   uint32_t rangeCount,
                                                   const VkImageSubresourceRange *pRanges)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, image, _image);
   if (vk_format_is_compressed(image->vk.format)) {
      report_error(&cmd->vk.base, "vkCmdClearColorImage: a compressed image has no clears");
      return;
   }
   TexelBytes texel = {};
   util_format_pack_rgba(vk_format_to_pipe_format(image->vk.format), texel.data(), pColor, 1);
   record_clears(cmd, *image, texel, {pRanges, rangeCount}, VK_IMAGE_ASPECT_COLOR_BIT);
}

// Vulkan requires a queue with graphics, but the Vulkan CTS clears depths on queues that compute.
VKAPI_ATTR void VKAPI_CALL weft_CmdClearDepthStencilImage(VkCommandBuffer commandBuffer,
                                                          VkImage _image, VkImageLayout,
                                                          const VkClearDepthStencilValue *pValue,
                                                          uint32_t rangeCount,
                                                          const VkImageSubresourceRange *pRanges)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, image, _image);
   const std::span<const VkImageSubresourceRange> ranges = {pRanges, rangeCount};
   if (image->vk.aspects & VK_IMAGE_ASPECT_DEPTH_BIT) {
      TexelBytes texel = {};
      util_format_pack_z_float(vk_format_to_pipe_format(vk_format_depth_only(image->vk.format)),
                               texel.data(), &pValue->depth, 1);
      record_clears(cmd, *image, texel, ranges, VK_IMAGE_ASPECT_DEPTH_BIT);
   }
   record_clears(cmd, *image, TexelBytes{uint8_t(pValue->stencil)}, ranges,
                 VK_IMAGE_ASPECT_STENCIL_BIT);
}
