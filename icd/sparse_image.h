// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Partially resident images (Vulkan, "Sparse Partially-Resident Images"). Their first levels are
/// tiles of the standard shapes, each of which is bound by itself. The other levels, the mip tail
/// of all layers, are rows as in other images:
///
///    level 0: layer 0: tiles | layer 1: tiles … │ level 1: tiles … │ mip tail: rows of texels
///
/// Slices of 3D images are tiles, too; the standard shapes have several slices.

#pragma once

#include "icd/image.h"

namespace weft {

/// Whether images of a format may be partially resident: of one aspect, and texels or blocks that
/// divide a tile.
bool may_be_partially_resident(const VkPhysicalDeviceImageFormatInfo2 &);
inline bool is_partially_resident(VkImageCreateFlags flags)
{
   return flags & VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT;
}

/// The shape of tiles, without levels.
Tiles tile_shape(uint32_t texel_bytes);
/// Whether a level, in texels or blocks, is at least as large as a tile.
bool fills_tile(const Tiles &, uint32_t width, uint32_t height);

VkSparseImageFormatProperties sparse_properties(VkFormat, VkImageType);

} // namespace weft
