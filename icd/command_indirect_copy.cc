// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies that an array in memory describes (VK_KHR_copy_memory_indirect). The array is read when
/// the queue gets there. A device address is an address of the process.

#include "icd/command_buffer.h"
#include "icd/image.h"
#include "icd/image_box.h"
#include "weft_entrypoints.h"

#include <cstring>

using namespace weft;

namespace {

struct IndirectCopy : Command {
   const uint8_t *regions;
   uint64_t stride;
   uint32_t count;

   /// Calls f with each region.
   template <typename Region, typename F>
   void for_each(F f) const
   {
      for (uint32_t i = 0; i < count; i++)
         f(read_memory<Region>(regions + i * stride));
   }
};

struct IndirectImageCopy : IndirectCopy {
   const Image *image;
};

bool run_indirect_copy(Queue *, const Command *command)
{
   static_cast<const IndirectCopy *>(command)->for_each<VkCopyMemoryIndirectCommandKHR>(
      [](const VkCopyMemoryIndirectCommandKHR &region) {
         memcpy(reinterpret_cast<void *>(region.dstAddress),
                reinterpret_cast<const void *>(region.srcAddress), region.size);
      });
   return true;
}

/// Layers stand for the slices of a 3D image (vkCmdCopyMemoryToImageIndirectKHR).
VkBufferImageCopy2 image_region(const Image &image,
                                const VkCopyMemoryToImageIndirectCommandKHR &region)
{
   VkBufferImageCopy2 copy = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2,
      .bufferRowLength = region.bufferRowLength,
      .bufferImageHeight = region.bufferImageHeight,
      .imageSubresource = region.imageSubresource,
      .imageOffset = region.imageOffset,
      .imageExtent = region.imageExtent,
   };
   if (image.vk.image_type == VK_IMAGE_TYPE_3D) {
      const auto &[aspect, level, first, count] = region.imageSubresource;
      copy.imageOffset.z = int32_t(first);
      copy.imageExtent.depth =
         count == VK_REMAINING_ARRAY_LAYERS ? image.level(level).extent.depth - first : count;
      copy.imageSubresource.baseArrayLayer = 0;
      copy.imageSubresource.layerCount = 1;
   }
   return copy;
}

bool run_indirect_image_copy(Queue *, const Command *command)
{
   auto *copy = static_cast<const IndirectImageCopy *>(command);
   const Image &image = *copy->image;
   copy->for_each<VkCopyMemoryToImageIndirectCommandKHR>(
      [&](const VkCopyMemoryToImageIndirectCommandKHR &described) {
         const VkBufferImageCopy2 region = image_region(image, described);
         copy_box({
            .to = place_in(image, region.imageSubresource, region.imageOffset),
            .from = place_in(reinterpret_cast<uint8_t *>(described.srcAddress),
                             vk_image_buffer_copy_layout(&image.vk, &region)),
            .box = box_of(image, region.imageSubresource, region.imageExtent),
         });
      });
   return true;
}

void set_regions(IndirectCopy *copy, const VkStridedDeviceAddressRangeKHR &regions, uint32_t count)
{
   copy->regions = reinterpret_cast<const uint8_t *>(regions.address);
   copy->stride = regions.stride;
   copy->count = count;
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyMemoryIndirectKHR(VkCommandBuffer commandBuffer,
                                                         const VkCopyMemoryIndirectInfoKHR *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   if (auto *copy = record<IndirectCopy>(cmd)) {
      copy->run = run_indirect_copy;
      set_regions(copy, pInfo->copyAddressRange, pInfo->copyCount);
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyMemoryToImageIndirectKHR(
   VkCommandBuffer commandBuffer, const VkCopyMemoryToImageIndirectInfoKHR *pInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   if (auto *copy = record<IndirectImageCopy>(cmd)) {
      copy->run = run_indirect_image_copy;
      set_regions(copy, pInfo->copyAddressRange, pInfo->copyCount);
      copy->image = to;
   }
}
