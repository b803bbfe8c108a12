// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_image.h"

#include "nir_passes/images/texel_descriptor.h"

namespace weft {

struct ImageView {
   vk_image_view vk;
   SampledImageDescriptor sampled;
   ImageDescriptor
      stored; ///< of a storage image: a part of the slices (VkImageViewSlicedCreateInfo)
   ConvertedImageDescriptor converted; ///< of a view of several planes
};

/// The descriptors of a view that may be null.
SampledImageDescriptor sampled_descriptor(VkImageView);
ImageDescriptor storage_descriptor(VkImageView);
/// The same of a view of several planes.
ConvertedImageDescriptor converted_descriptor(VkImageView);

VK_DEFINE_NONDISP_HANDLE_CASTS(ImageView, vk.base, VkImageView, VK_OBJECT_TYPE_IMAGE_VIEW)

} // namespace weft
