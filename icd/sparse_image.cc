// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sparse_image.h"

#include "vulkan_util/out_array.h"
#include "weft_entrypoints.h"

#include "util/u_math.h"
#include "vk_format.h"

#include <bit>

namespace weft {

bool may_be_partially_resident(const VkPhysicalDeviceImageFormatInfo2 &info)
{
   const std::optional<TexelFormat> format =
      plane_format(info.format, vk_format_aspects(info.format));
   return format && std::has_single_bit(format->texel_bytes) && !planes_of(info.format) &&
          std::has_single_bit(vk_format_aspects(info.format)) && info.type != VK_IMAGE_TYPE_1D &&
          info.tiling == VK_IMAGE_TILING_OPTIMAL;
}

Tiles tile_shape(uint32_t texel_bytes)
{
   // 256 x 256, 256 x 128, 128 x 128, 128 x 64, 64 x 64 ("Standard Sparse Image Block Shapes"), and
   // 64 x 32 for texels of 32 bytes.
   const auto halvings = uint8_t(std::countr_zero(texel_bytes));
   return {
      .width_bits = uint8_t(8 - halvings / 2),
      .height_bits = uint8_t(8 - (halvings + 1) / 2),
      .levels = 0,
      .reserved = 0,
   };
}

bool fills_tile(const Tiles &tiles, uint32_t width, uint32_t height)
{
   return width >> tiles.width_bits && height >> tiles.height_bits;
}

VkSparseImageFormatProperties sparse_properties(VkFormat format, VkImageType type)
{
   const TexelFormat texels = *plane_format(format, vk_format_aspects(format));
   const Tiles tiles = tile_shape(texels.texel_bytes);
   const uint32_t side = texel_side(texels);
   VkSparseImageFormatFlags flags = VK_SPARSE_IMAGE_FORMAT_SINGLE_MIPTAIL_BIT;
   if (type == VK_IMAGE_TYPE_3D || texels.texel_bytes > 16)
      flags |= VK_SPARSE_IMAGE_FORMAT_NONSTANDARD_BLOCK_SIZE_BIT;
   return {
      .aspectMask = vk_format_aspects(format),
      .imageGranularity = {side << tiles.width_bits, side << tiles.height_bits, 1},
      .flags = flags,
   };
}

} // namespace weft

using namespace weft;

namespace {

void write_sparse_requirements(const ImageLayout &layout, const VkImageCreateInfo &info,
                               uint32_t *count, VkSparseImageMemoryRequirements2 *requirements)
{
   OutArray<VkSparseImageMemoryRequirements2> out(requirements, count);
   if (!is_partially_resident(info.flags) || layout.size == 0)
      return;
   const uint32_t first = layout.tiles.levels;
   const bool has_tail = first < info.mipLevels;
   const uint64_t offset = has_tail ? layout.levels[first].offset : 0;
   if (VkSparseImageMemoryRequirements2 *to = out.append()) {
      to->memoryRequirements = {
         .formatProperties = sparse_properties(info.format, info.imageType),
         .imageMipTailFirstLod = first,
         .imageMipTailSize = has_tail ? layout.size - offset : 0,
         .imageMipTailOffset = offset,
         .imageMipTailStride = 0,
      };
   }
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_GetDeviceImageSparseMemoryRequirements(
   VkDevice device, const VkDeviceImageMemoryRequirements *pInfo,
   uint32_t *pSparseMemoryRequirementCount,
   VkSparseImageMemoryRequirements2 *pSparseMemoryRequirements)
{
   const VkImageCreateInfo &info = *pInfo->pCreateInfo;
   write_sparse_requirements(layout_of(device, info), info, pSparseMemoryRequirementCount,
                             pSparseMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL
weft_GetImageSparseMemoryRequirements2(VkDevice, const VkImageSparseMemoryRequirementsInfo2 *pInfo,
                                       uint32_t *pSparseMemoryRequirementCount,
                                       VkSparseImageMemoryRequirements2 *pSparseMemoryRequirements)
{
   VK_FROM_HANDLE(Image, image, pInfo->image);
   const VkImageCreateInfo info = {
      .flags = image->vk.create_flags,
      .imageType = image->vk.image_type,
      .format = image->vk.format,
      .mipLevels = image->vk.mip_levels,
   };
   write_sparse_requirements(image->layout, info, pSparseMemoryRequirementCount,
                             pSparseMemoryRequirements);
}
