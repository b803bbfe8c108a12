// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images of several planes: a luma for each texel, and chromas for each two or four of them, whose
/// samplers convert colors (Vulkan, "Sampler YCbCr Conversion").

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_format.h"
#include "vk_ycbcr_conversion.h"

#include "nir_passes/images/texel_descriptor.h"

#include <cstdint>

namespace weft {

/// The planes of a format that has several; null if it has one or is not supported.
const vk_format_ycbcr_info *planes_of(VkFormat);
constexpr VkImageAspectFlags all_planes =
   VK_IMAGE_ASPECT_PLANE_0_BIT | VK_IMAGE_ASPECT_PLANE_1_BIT | VK_IMAGE_ASPECT_PLANE_2_BIT;
/// 0 for aspects that are not planes.
uint32_t plane_number(VkImageAspectFlags aspect);

ConversionDescriptor describe_conversion(const vk_ycbcr_conversion_state &);

/// The count of combined descriptors with as much memory as a ConvertedDescriptor. A program that
/// fills a descriptor buffer computes the stride of an array from it.
constexpr uint32_t converted_descriptors = 3;
static_assert(converted_descriptors * sizeof(CombinedDescriptor) == sizeof(ConvertedDescriptor));

/// Whether C_B and C_R are exchanged.
bool swaps_chromas(const vk_ycbcr_conversion_state &);

} // namespace weft
