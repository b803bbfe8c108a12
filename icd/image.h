// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "icd/planes.h"
#include "nir_passes/images/texel_descriptor.h"

#include "vk_image.h"

#include <cstdint>
#include <optional>

namespace weft {

constexpr uint32_t max_image_levels = 15;
constexpr uint32_t max_image_extent = 1 << (max_image_levels - 1), max_image_depth = 2048,
                   max_image_layers = 2048;

/// A mip level. Its slices, which are the layers of an array or the depth, are rows one after the
/// other; rows of blocks, if the format is compressed:
///
///    offset ─► slice 0: row 0 | row 1 | …, slice 1: row 0 | row 1 | …
///
/// Each sample of a layer is a slice of its own: layer 0 has the slices 0 … samples - 1. In tiles
/// (Tiles), the pitch of rows is that of rows of tiles.
struct ImageLevel {
   uint64_t offset; ///< from the image's first byte
   uint64_t row_pitch, slice_pitch;
   VkExtent3D extent; ///< texels
   uint32_t slices;
};

/// The memory of an image, with either tiling. A format of depths and stencils has a plane of
/// stencils behind the depths. Planes of luma and chromas (planes.h) follow each other.
struct ImageLayout {
   uint32_t texel_side;  ///< texels of a block in each direction; 1 if it is a texel
   uint32_t texel_bytes; ///< or bytes of a block
   uint64_t size;        ///< 0 if the format or the size is not supported
   ImageLevel levels[max_image_levels];
   ImageLevel stencil_levels[max_image_levels]; ///< beside depths, else without slices
   Tiles tiles;                                 ///< of a partially resident image
   ImageLevel chromas[2];                       ///< planes 1 and 2 of an image of several planes
   uint32_t chroma_bytes;                       ///< of a texel; 0 without these planes

   /// Whether the aspect is a plane of stencils beside depths.
   bool is_second_plane(VkImageAspectFlags aspect) const
   {
      return aspect == VK_IMAGE_ASPECT_STENCIL_BIT && stencil_levels[0].slices > 0;
   }
   const ImageLevel &level(uint32_t number, VkImageAspectFlags aspect) const
   {
      if (const uint32_t plane = plane_number(aspect))
         return chromas[plane - 1];
      return is_second_plane(aspect) ? stencil_levels[number] : levels[number];
   }
   /// The bytes of a level's slice as rows without gaps.
   uint64_t rows_bytes(uint32_t number, VkImageAspectFlags aspect) const
   {
      const ImageLevel &rows = level(number, aspect);
      if (number >= tiles.levels)
         return rows.slice_pitch;
      return uint64_t(DIV_ROUND_UP(rows.extent.width, texel_side)) *
             DIV_ROUND_UP(rows.extent.height, texel_side) * texel_bytes;
   }
};
constexpr VkImageAspectFlags depth_and_stencil =
   VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
ImageLayout lay_out_image(const vk_image &);
/// Of an image that is not created.
ImageLayout layout_of(VkDevice, const VkImageCreateInfo &);
/// The texels of an aspect; a stencil is the component R.
std::optional<TexelFormat> plane_format(VkFormat, VkImageAspectFlags);

constexpr VkSampleCountFlags sample_counts =
   VK_SAMPLE_COUNT_1_BIT | VK_SAMPLE_COUNT_2_BIT | VK_SAMPLE_COUNT_4_BIT | VK_SAMPLE_COUNT_8_BIT;
bool may_have_samples(VkImageType, VkImageTiling, VkImageCreateFlags, VkFormat);

/// The largest images of a format and a type; whether an image keeps to them.
VkImageFormatProperties image_limits(VkFormat, VkImageType);
bool is_within_limits(const VkImageCreateInfo &);

struct Image {
   vk_image vk;
   ImageLayout layout;
   uint8_t *address; ///< of its first byte; null until memory is bound

   bool is_sparse() const { return vk.create_flags & VK_IMAGE_CREATE_SPARSE_BINDING_BIT; }

   const ImageLevel &level(uint32_t number, VkImageAspectFlags aspect = 0) const
   {
      return layout.level(number, aspect);
   }
   uint32_t texel_bytes(VkImageAspectFlags aspect) const
   {
      if (plane_number(aspect))
         return layout.chroma_bytes;
      return layout.is_second_plane(aspect) ? 1 : layout.texel_bytes;
   }
   /// The slice of the first sample; the number of slices of as many layers.
   uint32_t slices_of(uint32_t layers) const { return layers * vk.samples; }
   uint8_t *slice(uint32_t level, uint32_t slice, VkImageAspectFlags aspect = 0) const;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(Image, vk.base, VkImage, VK_OBJECT_TYPE_IMAGE)

} // namespace weft
