// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_host_image_copy. Images are rows of texels in memory of the process, in every layout, so
/// transitions do nothing, and VK_HOST_IMAGE_COPY_MEMCPY changes nothing.

#include "icd/image_box.h"
#include "weft_entrypoints.h"

#include <span>

using namespace weft;

VKAPI_ATTR VkResult VKAPI_CALL weft_CopyMemoryToImageEXT(VkDevice,
                                                         const VkCopyMemoryToImageInfo *pInfo)
{
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   for (const VkMemoryToImageCopy &r : std::span(pInfo->pRegions, pInfo->regionCount)) {
      // A copy only reads the memory.
      auto *memory = static_cast<uint8_t *>(const_cast<void *>(r.pHostPointer));
      copy_box({
         .to = place_in(*to, r.imageSubresource, r.imageOffset),
         .from = place_in(memory, vk_memory_to_image_copy_layout(&to->vk, &r)),
         .box = box_of(*to, r.imageSubresource, r.imageExtent),
      });
   }
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CopyImageToMemoryEXT(VkDevice,
                                                         const VkCopyImageToMemoryInfo *pInfo)
{
   VK_FROM_HANDLE(Image, from, pInfo->srcImage);
   for (const VkImageToMemoryCopy &r : std::span(pInfo->pRegions, pInfo->regionCount)) {
      auto *memory = static_cast<uint8_t *>(r.pHostPointer);
      copy_box({
         .to = place_in(memory, vk_image_to_memory_copy_layout(&from->vk, &r)),
         .from = place_in(*from, r.imageSubresource, r.imageOffset),
         .box = box_of(*from, r.imageSubresource, r.imageExtent),
      });
   }
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CopyImageToImageEXT(VkDevice,
                                                        const VkCopyImageToImageInfo *pInfo)
{
   VK_FROM_HANDLE(Image, from, pInfo->srcImage);
   VK_FROM_HANDLE(Image, to, pInfo->dstImage);
   const auto copy = [&](const VkImageCopy2 &region) {
      copy_box(copy_between(*from, *to, region));
   };
   for (const VkImageCopy2 &region : std::span(pInfo->pRegions, pInfo->regionCount)) {
      if (has_two_planes(*from))
         for_each_aspect(region, copy);
      else
         copy(region);
   }
   return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL
weft_TransitionImageLayoutEXT(VkDevice, uint32_t, const VkHostImageLayoutTransitionInfo *)
{
   return VK_SUCCESS;
}
