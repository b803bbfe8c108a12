// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/image_view.h"

#include "icd/device.h"
#include "icd/image.h"
#include "icd/planes.h"
#include "weft_entrypoints.h"

#include "util/format/u_formats.h"
#include "vk_format.h"
#include "vk_log.h"
#include "vk_util.h"

#include <utility>

namespace weft {

SampledImageDescriptor sampled_descriptor(VkImageView handle)
{
   VK_FROM_HANDLE(ImageView, view, handle);
   return view ? view->sampled : SampledImageDescriptor{};
}

ImageDescriptor storage_descriptor(VkImageView handle)
{
   VK_FROM_HANDLE(ImageView, view, handle);
   return view ? view->stored : ImageDescriptor{};
}

ConvertedImageDescriptor converted_descriptor(VkImageView handle)
{
   VK_FROM_HANDLE(ImageView, view, handle);
   return view ? view->converted : ConvertedImageDescriptor{};
}

} // namespace weft

using namespace weft;

namespace {

/// A view in two dimensions of an image in three has slices of a level as layers.
bool is_inside(const Image &image, const VkImageViewCreateInfo &info)
{
   const VkImageSubresourceRange &range = info.subresourceRange;
   const auto has = [](uint32_t total, uint32_t first, uint32_t count) {
      return first < total && count > 0 && (count == ~0u || count <= total - first);
   };
   const bool has_slices =
      image.vk.image_type == VK_IMAGE_TYPE_3D && info.viewType != VK_IMAGE_VIEW_TYPE_3D;
   return has(image.vk.mip_levels, range.baseMipLevel, range.levelCount) &&
          has(has_slices ? image.level(range.baseMipLevel).slices : image.vk.array_layers,
              range.baseArrayLayer, range.layerCount);
}

/// vk_image_view_init() resolves VK_COMPONENT_SWIZZLE_IDENTITY.
uint8_t component(VkComponentSwizzle swizzle)
{
   switch (swizzle) {
   case VK_COMPONENT_SWIZZLE_ZERO:
      return PIPE_SWIZZLE_0;
   case VK_COMPONENT_SWIZZLE_ONE:
      return PIPE_SWIZZLE_1;
   default:
      return uint8_t(PIPE_SWIZZLE_X + (swizzle - VK_COMPONENT_SWIZZLE_R));
   }
}

struct Slices {
   uint32_t first, count;
};

/// Zeros if the level is not in tiles.
Tiles tiles_from(const Image &image, uint32_t first_level)
{
   Tiles tiles = image.layout.tiles;
   if (first_level >= tiles.levels)
      return {};
   tiles.levels = uint8_t(tiles.levels - first_level);
   return tiles;
}

/// Slices or layers of the first level.
SampledImageDescriptor describe(const ImageView &view, const TexelFormat &format, Slices range)
{
   auto *image = reinterpret_cast<const Image *>(view.vk.image);
   const VkImageAspectFlags aspect = view.vk.aspects;
   const ImageLevel &level = image->level(view.vk.base_mip_level, aspect);
   const bool is_3d = view.vk.view_type == VK_IMAGE_VIEW_TYPE_3D;
   const auto [first, slices] = range;
   const uint8_t *begin = image->slice(view.vk.base_mip_level, image->slices_of(first), aspect);
   SampledImageDescriptor descriptor = {};
   descriptor.image = {
      .address = uint64_t(uintptr_t(begin)),
      .size = image->slices_of(slices) * level.slice_pitch,
      .format = format,
      // Of a compressed image, a view in another format has blocks as texels.
      .width = view.vk.extent.width,
      .height = view.vk.extent.height,
      .slices = slices,
      .row_pitch = uint32_t(level.row_pitch),
      .slice_pitch = uint32_t(level.slice_pitch),
      .levels = view.vk.level_count,
      .swizzle = {component(view.vk.swizzle.r), component(view.vk.swizzle.g),
                  component(view.vk.swizzle.b), component(view.vk.swizzle.a)},
      .samples = image->vk.samples,
      .tiles = tiles_from(*image, view.vk.base_mip_level),
   };
   for (uint32_t i = 0; i < view.vk.level_count; i++) {
      const uint32_t number = view.vk.base_mip_level + i;
      const ImageLevel &each = image->level(number, aspect);
      const uint8_t *at = image->slice(number, image->slices_of(first), aspect);
      descriptor.level_offsets[i] = uint32_t(at - begin);
      descriptor.image.size =
         uint64_t(at - begin) +
         (is_3d && i > 0 ? each.slices : image->slices_of(slices)) * each.slice_pitch;
   }
   return descriptor;
}

/// A component of a plane, in place of R.
SampledImageDescriptor describe_plane(const ImageView &view, uint32_t plane, uint8_t source)
{
   auto &image = *reinterpret_cast<const Image *>(view.vk.image);
   const VkImageAspectFlagBits aspects[] = {
      VK_IMAGE_ASPECT_PLANE_0_BIT, VK_IMAGE_ASPECT_PLANE_1_BIT, VK_IMAGE_ASPECT_PLANE_2_BIT};
   const ImageLevel &level = image.level(0, aspects[plane]);
   const VkFormat format = planes_of(image.vk.format)->planes[plane].format;
   SampledImageDescriptor descriptor = {};
   descriptor.image = {
      .address = uint64_t(uintptr_t(image.slice(0, view.vk.base_array_layer, aspects[plane]))),
      .size = view.vk.layer_count * level.slice_pitch,
      .format = *texel_format(vk_format_to_pipe_format(format)),
      .width = level.extent.width,
      .height = level.extent.height,
      .slices = view.vk.layer_count,
      .row_pitch = uint32_t(level.row_pitch),
      .slice_pitch = uint32_t(level.slice_pitch),
      .levels = 1,
      .swizzle = {source, PIPE_SWIZZLE_Y, PIPE_SWIZZLE_Z, PIPE_SWIZZLE_W},
      .tiles = {},
   };
   return descriptor;
}

ConvertedImageDescriptor describe_planes(const ImageView &view,
                                         const vk_ycbcr_conversion_state &state)
{
   const vk_image &image = *view.vk.image;
   const vk_format_ycbcr_info &info = *planes_of(image.format);
   ConvertedImageDescriptor descriptor = {
      .luma = describe_plane(view, 0, PIPE_SWIZZLE_X),
      .blue = describe_plane(view, 1, PIPE_SWIZZLE_X),
      .red = info.n_planes == 2 ? describe_plane(view, 1, PIPE_SWIZZLE_Y)
                                : describe_plane(view, 2, PIPE_SWIZZLE_X),
      .chroma_shift = {},
      .reserved = {},
   };
   if (swaps_chromas(state))
      std::swap(descriptor.blue, descriptor.red);
   // Chromas beside the first of two texels are half a texel before their middle.
   const uint32_t size[] = {image.extent.width, image.extent.height};
   for (uint32_t d = 0; d < 2; d++) {
      if (info.planes[1].denominator_scales[d] > 1 &&
          state.chroma_offsets[d] == VK_CHROMA_LOCATION_COSITED_EVEN)
         descriptor.chroma_shift[d] = 0.5f / float(size[d]);
   }
   return descriptor;
}

/// A view of all planes is sampled with a conversion only.
void set_planes(ImageView *view, const VkImageViewCreateInfo &info)
{
   const auto *chained = vk_find_struct_const(info.pNext, SAMPLER_YCBCR_CONVERSION_INFO);
   VK_FROM_HANDLE(vk_ycbcr_conversion, conversion,
                  chained ? chained->conversion : VkSamplerYcbcrConversion(VK_NULL_HANDLE));
   if (conversion)
      view->converted = describe_planes(*view, conversion->state);
   view->sampled = view->converted.luma;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateImageView(VkDevice _device,
                                                    const VkImageViewCreateInfo *pCreateInfo,
                                                    const VkAllocationCallbacks *pAllocator,
                                                    VkImageView *pView)
{
   VK_FROM_HANDLE(Device, device, _device);
   *pView = VK_NULL_HANDLE;
   VK_FROM_HANDLE(Image, image, pCreateInfo->image);
   if (!is_inside(*image, *pCreateInfo))
      return vk_errorf(device, VK_ERROR_UNKNOWN, "a view exceeds its image");
   auto *view = static_cast<ImageView *>(
      vk_image_view_create(&device->vk, false, pCreateInfo, pAllocator, sizeof(ImageView)));
   if (!view)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   if (planes_of(view->vk.view_format)) {
      set_planes(view, *pCreateInfo);
      *pView = ImageView_to_handle(view);
      return VK_SUCCESS;
   }
   if (plane_number(view->vk.aspects))
      view->vk.extent = image->level(0, view->vk.aspects).extent;
   const std::optional<TexelFormat> format = plane_format(view->vk.view_format, view->vk.aspects);
   if (!format) {
      vk_image_view_destroy(&device->vk, pAllocator, &view->vk);
      return vk_errorf(device, VK_ERROR_UNKNOWN, "the format of an image is not supported");
   }
   const vk_image_view &vk = view->vk;
   const bool is_3d = vk.view_type == VK_IMAGE_VIEW_TYPE_3D;
   const Slices layers = {vk.base_array_layer, vk.layer_count},
                all = {0, image->level(vk.base_mip_level).slices},
                stored = {vk.storage.z_slice_offset, vk.storage.z_slice_count};
   view->sampled = describe(*view, *format, is_3d ? all : layers);
   view->stored = is_3d ? describe(*view, *format, stored).image : view->sampled.image;
   *pView = ImageView_to_handle(view);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyImageView(VkDevice _device, VkImageView _view,
                                                 const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(ImageView, view, _view);
   if (view)
      vk_image_view_destroy(&device->vk, pAllocator, &view->vk);
}
