// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/image.h"

#include "icd/device.h"
#include "icd/device_memory.h"
#include "icd/device_pages.h"
#include "icd/physical_device.h"
#include "icd/resource_memory.h"
#include "icd/sparse.h"
#include "icd/sparse_image.h"
#include "nir_passes/compile_limits.h"
#include "nir_passes/images/texel_format.h"
#include "weft_entrypoints.h"

#include "vk_enum_defines.h"
#include "vk_format.h"
#include "vk_log.h"
#include "vk_util.h"

#include <algorithm>
#include <bit>

namespace weft {

namespace {

/// Planes have one level.
ImageLayout lay_out_planes(const vk_image &image, const vk_format_ycbcr_info &info)
{
   ImageLayout layout = {};
   layout.texel_side = 1;
   uint64_t size = 0;
   for (uint32_t i = 0; i < info.n_planes; i++) {
      const VkFormat format = info.planes[i].format;
      const uint32_t bytes = vk_format_get_blocksize(format),
                     width = vk_format_get_plane_width(image.format, i, image.extent.width),
                     height = vk_format_get_plane_height(image.format, i, image.extent.height);
      const uint64_t row_pitch = uint64_t(width) * bytes;
      (i == 0 ? layout.texel_bytes : layout.chroma_bytes) = bytes;
      (i == 0 ? layout.levels[0] : layout.chromas[i - 1]) = {
         .offset = size,
         .row_pitch = row_pitch,
         .slice_pitch = row_pitch * height,
         .extent = {width, height, 1},
         .slices = image.array_layers,
      };
      size += align64(row_pitch * height * image.array_layers, memory_alignment);
   }
   if (size <= limits::buffer_range)
      layout.size = size;
   return layout;
}

/// Rows and columns of texels that share chromas are whole.
bool has_whole_chromas(const VkImageCreateInfo &info)
{
   const auto &scales = planes_of(info.format)->planes[1].denominator_scales;
   return info.imageType == VK_IMAGE_TYPE_2D && info.mipLevels == 1 &&
          info.extent.width % scales[0] == 0 && info.extent.height % scales[1] == 0;
}

} // namespace

std::optional<TexelFormat> plane_format(VkFormat format, VkImageAspectFlags aspect)
{
   if (aspect & VK_IMAGE_ASPECT_DEPTH_BIT)
      format = vk_format_depth_only(format);
   return texel_format(aspect == VK_IMAGE_ASPECT_STENCIL_BIT ? PIPE_FORMAT_R8_UINT
                                                             : vk_format_to_pipe_format(format));
}

ImageLayout lay_out_image(const vk_image &image)
{
   if (const vk_format_ycbcr_info *planes = planes_of(image.format))
      return lay_out_planes(image, *planes);
   ImageLayout layout = {};
   const std::optional<TexelFormat> format =
      plane_format(image.format, vk_format_aspects(image.format));
   if (!format)
      return layout;
   layout.texel_side = texel_side(*format);
   layout.texel_bytes = format->texel_bytes;
   const bool has_tiles = is_partially_resident(image.create_flags) &&
                          std::has_single_bit(layout.texel_bytes) &&
                          image.aspects != depth_and_stencil;
   if (has_tiles)
      layout.tiles = tile_shape(layout.texel_bytes);
   uint64_t size = 0;
   for (uint32_t i = 0; i < image.mip_levels; i++) {
      const VkExtent3D extent = vk_image_mip_level_extent(&image, i);
      const uint32_t columns = DIV_ROUND_UP(extent.width, layout.texel_side),
                     rows = DIV_ROUND_UP(extent.height, layout.texel_side);
      Tiles &tiles = layout.tiles;
      const bool is_tiled = has_tiles && tiles.levels == i && fills_tile(tiles, columns, rows);
      tiles.levels += is_tiled;
      const uint64_t row_pitch =
         is_tiled ? DIV_ROUND_UP(columns, 1u << tiles.width_bits) * uint64_t(tile_bytes)
                  : uint64_t(columns) * format->texel_bytes;
      layout.levels[i] = {
         .offset = size,
         .row_pitch = row_pitch,
         .slice_pitch = row_pitch * (is_tiled ? DIV_ROUND_UP(rows, 1u << tiles.height_bits) : rows),
         .extent = extent,
         .slices = image.image_type == VK_IMAGE_TYPE_3D ? extent.depth
                                                        : image.array_layers * image.samples,
      };
      size += align64(layout.levels[i].slice_pitch * layout.levels[i].slices, memory_alignment);
   }
   for (uint32_t i = 0; image.aspects == depth_and_stencil && i < image.mip_levels; i++) {
      ImageLevel &level = layout.stencil_levels[i];
      level = layout.levels[i];
      level.offset = size;
      level.row_pitch = level.extent.width;
      level.slice_pitch = level.row_pitch * level.extent.height;
      size += align64(level.slice_pitch * level.slices, memory_alignment);
   }
   if (has_tiles)
      size = align64(size, tile_bytes);
   // Offsets in shaders have 32 bits.
   if (size <= limits::buffer_range)
      layout.size = size;
   return layout;
}

bool may_have_samples(VkImageType type, VkImageTiling tiling, VkImageCreateFlags flags,
                      VkFormat format)
{
   return type == VK_IMAGE_TYPE_2D && tiling == VK_IMAGE_TILING_OPTIMAL &&
          !(flags & VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT) && !vk_format_is_compressed(format) &&
          !vk_format_get_ycbcr_info(format);
}

VkImageFormatProperties image_limits(VkFormat format, VkImageType type)
{
   if (planes_of(format)) {
      return {
         .maxExtent = {max_image_extent, max_image_extent, 1},
         .maxMipLevels = 1,
         .maxArrayLayers = max_image_layers,
         .sampleCounts = VK_SAMPLE_COUNT_1_BIT,
         .maxResourceSize = limits::buffer_range,
      };
   }
   const bool is_1d = type == VK_IMAGE_TYPE_1D, is_3d = type == VK_IMAGE_TYPE_3D;
   const uint32_t extent = is_3d ? max_image_depth : max_image_extent;
   return {
      .maxExtent = {extent, is_1d ? 1 : extent, is_3d ? extent : 1},
      .maxMipLevels = uint32_t(std::bit_width(extent)),
      .maxArrayLayers = is_3d ? 1 : max_image_layers,
      .sampleCounts = VK_SAMPLE_COUNT_1_BIT,
      .maxResourceSize = limits::buffer_range,
   };
}

static bool has_supported_samples(const VkImageCreateInfo &info)
{
   return info.samples == VK_SAMPLE_COUNT_1_BIT ||
          ((info.samples & sample_counts) && info.mipLevels == 1 &&
           may_have_samples(info.imageType, info.tiling, info.flags, info.format));
}

bool is_within_limits(const VkImageCreateInfo &info)
{
   if (planes_of(info.format) && !has_whole_chromas(info))
      return false;
   const VkImageFormatProperties limits = image_limits(info.format, info.imageType);
   const auto within = [](uint32_t count, uint32_t limit) { return count > 0 && count <= limit; };
   const VkExtent3D &extent = info.extent;
   const uint32_t largest = std::max({extent.width, extent.height, extent.depth});
   return within(extent.width, limits.maxExtent.width) &&
          within(extent.height, limits.maxExtent.height) &&
          within(extent.depth, limits.maxExtent.depth) &&
          within(info.mipLevels, uint32_t(std::bit_width(largest))) &&
          within(info.arrayLayers, limits.maxArrayLayers) && has_supported_samples(info);
}

uint8_t *Image::slice(uint32_t number, uint32_t slice, VkImageAspectFlags aspect) const
{
   return address + level(number, aspect).offset + slice * level(number, aspect).slice_pitch;
}

} // namespace weft

using namespace weft;

namespace {

/// Bytes that are bound together; 0 if the image is not sparse.
uint64_t sparse_block(VkImageCreateFlags flags)
{
   return is_partially_resident(flags) ? tile_bytes : flags & sparse_image_flags ? page_size : 0;
}

} // namespace

namespace weft {

ImageLayout layout_of(VkDevice _device, const VkImageCreateInfo &info)
{
   VK_FROM_HANDLE(Device, device, _device);
   if (!is_within_limits(info))
      return {};
   vk_image image;
   vk_image_init(&device->vk, &image, &info);
   const ImageLayout layout = lay_out_image(image);
   vk_image_finish(&image);
   return layout;
}

} // namespace weft

namespace {

void describe(const ImageLayout &layout, const VkImageSubresource &wanted, bool is_3d,
              VkSubresourceLayout2 *out)
{
   const ImageLevel &level = layout.level(wanted.mipLevel, wanted.aspectMask);
   out->subresourceLayout = {
      .offset = level.offset + (is_3d ? 0 : wanted.arrayLayer * level.slice_pitch),
      .size = level.slice_pitch * (is_3d ? level.slices : 1),
      .rowPitch = level.row_pitch,
      .arrayPitch = level.slice_pitch,
      .depthPitch = level.slice_pitch,
   };
   // Copies with VK_HOST_IMAGE_COPY_MEMCPY are as others: rows without gaps.
   if (VkSubresourceHostMemcpySize *memcpy_size =
          vk_find_struct(out->pNext, SUBRESOURCE_HOST_MEMCPY_SIZE))
      memcpy_size->size =
         layout.rows_bytes(wanted.mipLevel, wanted.aspectMask) * (is_3d ? level.slices : 1);
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateImage(VkDevice _device,
                                                const VkImageCreateInfo *pCreateInfo,
                                                const VkAllocationCallbacks *pAllocator,
                                                VkImage *pImage)
{
   VK_FROM_HANDLE(Device, device, _device);
   *pImage = VK_NULL_HANDLE;
   // The command may not return codes for other errors.
   if (!is_within_limits(*pCreateInfo))
      return vk_errorf(device, VK_ERROR_UNKNOWN, "an image exceeds the limits of its type");
   auto *image =
      static_cast<Image *>(vk_image_create(&device->vk, pCreateInfo, pAllocator, sizeof(Image)));
   if (!image)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   image->layout = lay_out_image(image->vk);
   if (image->layout.size == 0) {
      const bool is_known = image->layout.texel_bytes > 0;
      vk_image_destroy(&device->vk, pAllocator, &image->vk);
      return is_known
                ? vk_errorf(device, VK_ERROR_OUT_OF_DEVICE_MEMORY, "an image is too large")
                : vk_errorf(device, VK_ERROR_UNKNOWN, "the format of an image is not supported");
   }
   if (image->is_sparse()) {
      const VkResult result = reserve_sparse(
         image->layout.size,
         pCreateInfo->flags & VK_IMAGE_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT,
         pCreateInfo->pNext, &image->address);
      if (result != VK_SUCCESS) {
         vk_image_destroy(&device->vk, pAllocator, &image->vk);
         return vk_error(device, result);
      }
   }
   *pImage = Image_to_handle(image);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyImage(VkDevice _device, VkImage _image,
                                             const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Image, image, _image);
   if (!image)
      return;
   if (image->is_sparse())
      release_sparse(image->address, image->layout.size);
   vk_image_destroy(&device->vk, pAllocator, &image->vk);
}

VKAPI_ATTR void VKAPI_CALL
weft_GetImageMemoryRequirements2(VkDevice, const VkImageMemoryRequirementsInfo2 *pInfo,
                                 VkMemoryRequirements2 *pMemoryRequirements)
{
   VK_FROM_HANDLE(Image, image, pInfo->image);
   write_requirements(image->layout.size, sparse_block(image->vk.create_flags),
                      pMemoryRequirements);
}

VKAPI_ATTR void VKAPI_CALL
weft_GetDeviceImageMemoryRequirements(VkDevice device, const VkDeviceImageMemoryRequirements *pInfo,
                                      VkMemoryRequirements2 *pMemoryRequirements)
{
   write_requirements(layout_of(device, *pInfo->pCreateInfo).size,
                      sparse_block(pInfo->pCreateInfo->flags), pMemoryRequirements);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_BindImageMemory2(VkDevice, uint32_t bindInfoCount,
                                                     const VkBindImageMemoryInfo *pBindInfos)
{
   for (uint32_t i = 0; i < bindInfoCount; i++) {
      VK_FROM_HANDLE(Image, image, pBindInfos[i].image);
      image->address = bind_to_memory(pBindInfos[i]);
   }
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_GetImageSubresourceLayout2KHR(
   VkDevice, VkImage _image, const VkImageSubresource2 *pSubresource, VkSubresourceLayout2 *pLayout)
{
   VK_FROM_HANDLE(Image, image, _image);
   describe(image->layout, pSubresource->imageSubresource, image->vk.image_type == VK_IMAGE_TYPE_3D,
            pLayout);
}

VKAPI_ATTR void VKAPI_CALL weft_GetDeviceImageSubresourceLayoutKHR(
   VkDevice device, const VkDeviceImageSubresourceInfo *pInfo, VkSubresourceLayout2 *pLayout)
{
   describe(layout_of(device, *pInfo->pCreateInfo), pInfo->pSubresource->imageSubresource,
            pInfo->pCreateInfo->imageType == VK_IMAGE_TYPE_3D, pLayout);
}
