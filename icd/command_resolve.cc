// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/command_resolve.h"

#include "icd/command_buffer.h"
#include "weft_entrypoints.h"

#include "util/format/u_format.h"
#include "vk_format.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace weft {

namespace {

constexpr uint32_t tile_texels = 64; ///< of a row, which are converted together

void average_row(const Resolve &resolve, uint32_t layer, uint32_t row)
{
   const uint32_t bytes = resolve.texel_bytes;
   for (uint32_t first = 0; first < resolve.width; first += tile_texels) {
      const uint32_t count = std::min(tile_texels, resolve.width - first);
      float sums[tile_texels][4] = {};
      for (uint32_t s = 0; s < resolve.samples; s++) {
         float colors[tile_texels][4];
         const uint8_t *from = resolve.from.row(layer * resolve.samples + s, row);
         util_format_unpack_rgba(resolve.format, colors, from + uint64_t(first) * bytes, count);
         for (uint32_t i = 0; i < count; i++) {
            for (uint32_t c = 0; c < 4; c++)
               sums[i][c] += colors[i][c] / float(resolve.samples);
         }
      }
      util_format_pack_rgba(resolve.format, resolve.to.row(layer, row) + uint64_t(first) * bytes,
                            sums, count);
   }
}

struct ResolveImage : Command {
   Resolve resolve;
};

bool run_resolve_image(Queue *, const Command *command)
{
   run_resolve(static_cast<const ResolveImage *>(command)->resolve);
   return true;
}

/// The region has one aspect.
void record_resolve(CommandBuffer *cmd, const Image &from, const Image &to,
                    const VkImageResolve2 &region)
{
   auto *command = record<ResolveImage>(cmd);
   if (!command)
      return;
   command->run = run_resolve_image;
   command->resolve = {
      .to = place_in(to, region.dstSubresource, region.dstOffset),
      .from = place_in(from, region.srcSubresource, region.srcOffset),
      .width = region.extent.width,
      .height = region.extent.height,
      .layers = vk_image_subresource_layer_count(&from.vk, &region.srcSubresource),
      .samples = from.vk.samples,
      .texel_bytes = from.texel_bytes(region.srcSubresource.aspectMask),
      .format = vk_format_to_pipe_format(from.vk.format),
      .is_average = has_average(from.vk.format),
   };
}

void run_in_rows(const Resolve &resolve)
{
   for (uint32_t layer = 0; layer < resolve.layers; layer++) {
      for (uint32_t row = 0; row < resolve.height; row++) {
         if (resolve.is_average)
            average_row(resolve, layer, row);
         else
            memcpy(resolve.to.row(layer, row), resolve.from.row(layer * resolve.samples, row),
                   uint64_t(resolve.width) * resolve.texel_bytes);
      }
   }
}

} // namespace

void run_resolve(const Resolve &resolve)
{
   const BoxRows rows(
      resolve.to, {uint64_t(resolve.width) * resolve.texel_bytes, resolve.height, resolve.layers});
   Resolve in_rows = resolve;
   in_rows.to = rows.place();
   if (!in_rows.to.first)
      return;
   run_in_rows(in_rows);
   rows.write_back();
}

bool has_average(VkFormat format)
{
   return !vk_format_is_int(format) && !vk_format_is_depth_or_stencil(format);
}

} // namespace weft

using namespace weft;

VKAPI_ATTR void VKAPI_CALL weft_CmdResolveImage2(VkCommandBuffer commandBuffer,
                                                 const VkResolveImageInfo2 *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, from, pInfo->srcImage);
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   // VkResolveImageModeInfoKHR may name only the modes that has_average() takes.
   for (const VkImageResolve2 &wanted : std::span(pInfo->pRegions, pInfo->regionCount)) {
      u_foreach_bit(aspect, wanted.srcSubresource.aspectMask)
      {
         VkImageResolve2 region = wanted;
         region.srcSubresource.aspectMask = region.dstSubresource.aspectMask = 1u << aspect;
         record_resolve(cmd, *from, *to, region);
      }
   }
}
