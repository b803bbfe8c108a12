// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies and clears of images. Recording reduces all of them to boxes (image_box.h).

#include "icd/buffer.h"
#include "icd/command_buffer.h"
#include "icd/image.h"
#include "icd/image_box.h"
#include "icd/log.h"
#include "weft_entrypoints.h"

#include "util/format/u_format.h"
#include "vk_format.h"

#include <algorithm>
#include <cstring>
#include <span>

using namespace weft;

namespace {

struct CopyBoxes : Command {
   uint32_t count;

   BoxCopy *boxes() { return reinterpret_cast<BoxCopy *>(this + 1); }
   const BoxCopy *boxes() const { return reinterpret_cast<const BoxCopy *>(this + 1); }
};

struct ClearBox : Command {
   BoxPlace place;
   Box box;
   uint32_t texel_bytes;
   TexelBytes texel;
};

bool run_box_copies(Queue *, const Command *command)
{
   auto *copy = static_cast<const CopyBoxes *>(command);
   std::for_each_n(copy->boxes(), copy->count, copy_box);
   return true;
}

bool run_box_clear(Queue *, const Command *command)
{
   auto *clear = static_cast<const ClearBox *>(command);
   clear_box(clear->place, clear->box, clear->texel, clear->texel_bytes);
   return true;
}

/// Records one copy for each region; box_copy(region) is its box.
template <typename Region, typename F>
void record_copies(CommandBuffer *cmd, uint32_t count, const Region *regions, F box_copy)
{
   auto *copy = record<CopyBoxes>(cmd, count * sizeof(BoxCopy));
   if (!copy)
      return;
   copy->run = run_box_copies;
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
         const uint32_t first = is_3d ? 0 : range.baseArrayLayer,
                        layers = vk_image_subresource_layer_count(&image.vk, &range);
         clear->place = place_of_level(image, l, image.slices_of(first), aspect);
         clear->box = {uint64_t(level.extent.width) * image.texel_bytes(aspect),
                       level.extent.height, is_3d ? level.slices : image.slices_of(layers)};
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
         .from = place_in(from->address + r.bufferOffset, vk_image_buffer_copy_layout(&to->vk, &r)),
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
         .to = place_in(to->address + r.bufferOffset, vk_image_buffer_copy_layout(&from->vk, &r)),
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
   const auto box_copy = [&](const VkImageCopy2 &region) {
      return copy_between(*from, *to, region);
   };
   if (!has_two_planes(*from))
      return record_copies(cmd, pInfo->regionCount, pInfo->pRegions, box_copy);
   for (uint32_t i = 0; i < pInfo->regionCount; i++)
      for_each_aspect(pInfo->pRegions[i], [&](const VkImageCopy2 &region) {
         record_copies(cmd, 1, &region, box_copy);
      });
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
   // Two words of a color are one component of 64 bits, so there are two (VkClearColorValue). Other
   // components become zeros.
   if (is_wide(*plane_format(image->vk.format, VK_IMAGE_ASPECT_COLOR_BIT)))
      memcpy(texel.data(), pColor, sizeof(*pColor));
   else
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
