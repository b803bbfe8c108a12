// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Format queries. Texel buffers may have every format that generated code converts
/// (texel_format.h); images are not supported.

#include "nir_passes/images/texel_format.h"
#include "vulkan_util/out_array.h"
#include "weft_entrypoints.h"

#include "vk_enum_defines.h"
#include "vk_format.h"
#include "vk_log.h"
#include "vk_physical_device.h"
#include "vk_util.h"

namespace weft {
namespace {

/// The uses of a format on this device.
struct FormatFeatures {
   VkFormatFeatureFlags2 linear = 0, optimal = 0, buffer = 0;
};

bool has_atomics(VkFormat format)
{
   return format == VK_FORMAT_R32_UINT || format == VK_FORMAT_R32_SINT;
}

FormatFeatures format_features(VkFormat format)
{
   FormatFeatures features;
   const std::optional<TexelFormat> texels = texel_format(vk_format_to_pipe_format(format));
   if (!texels)
      return features;
   features.buffer |= VK_FORMAT_FEATURE_2_UNIFORM_TEXEL_BUFFER_BIT;
   if (may_store(*texels))
      features.buffer |= VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT |
                         VK_FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT |
                         VK_FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT;
   if (has_atomics(format))
      features.buffer |= VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_ATOMIC_BIT;
   return features;
}

} // namespace
} // namespace weft

using namespace weft;

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceFormatProperties2(
   VkPhysicalDevice, VkFormat format, VkFormatProperties2 *pFormatProperties)
{
   const FormatFeatures features = format_features(format);
   pFormatProperties->formatProperties = {
      .linearTilingFeatures = vk_format_features2_to_features(features.linear),
      .optimalTilingFeatures = vk_format_features2_to_features(features.optimal),
      .bufferFeatures = vk_format_features2_to_features(features.buffer),
   };
   VkFormatProperties3 *properties3 = vk_find_struct(pFormatProperties->pNext, FORMAT_PROPERTIES_3);
   if (properties3) {
      properties3->linearTilingFeatures = features.linear;
      properties3->optimalTilingFeatures = features.optimal;
      properties3->bufferFeatures = features.buffer;
   }
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetPhysicalDeviceImageFormatProperties2(
   VkPhysicalDevice physicalDevice, const VkPhysicalDeviceImageFormatInfo2 *,
   VkImageFormatProperties2 *pImageFormatProperties)
{
   VK_FROM_HANDLE(vk_physical_device, pdev, physicalDevice);
   pImageFormatProperties->imageFormatProperties = {};
   return vk_error(pdev, VK_ERROR_FORMAT_NOT_SUPPORTED);
}

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceSparseImageFormatProperties2(
   VkPhysicalDevice, const VkPhysicalDeviceSparseImageFormatInfo2 *, uint32_t *pPropertyCount,
   VkSparseImageFormatProperties2 *)
{
   *pPropertyCount = 0;
}
