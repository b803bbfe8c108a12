// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_image.h"

#include "nir_passes/images/texel_descriptor.h"

namespace weft {

struct ImageView {
   vk_image_view vk;
   SampledImageDescriptor descriptor;  ///< storage images have its first part only
   ConvertedImageDescriptor converted; ///< of a view of several planes
};

/// The descriptor of a view that may be null.
SampledImageDescriptor image_descriptor(VkImageView);
/// The same of a view of several planes.
ConvertedImageDescriptor converted_descriptor(VkImageView);

VK_DEFINE_NONDISP_HANDLE_CASTS(ImageView, vk.base, VkImageView, VK_OBJECT_TYPE_IMAGE_VIEW)

} // namespace weft
