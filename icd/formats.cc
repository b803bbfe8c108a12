// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Format queries. Texel buffers and images may have every format that generated code converts
/// (texel_format.h). Images of both tilings have one layout (image.h).

#include "icd/buffer_view.h"
#include "icd/image.h"
#include "icd/planes.h"
#include "icd/resource_memory.h"
#include "icd/settings.h"
#include "icd/sparse.h"
#include "icd/sparse_image.h"
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
   VkFormatFeatureFlags2 image = 0, buffer = 0;
};

bool has_atomics(VkFormat format)
{
   return format == VK_FORMAT_R32_UINT || format == VK_FORMAT_R32_SINT ||
          format == VK_FORMAT_R32_SFLOAT || format == VK_FORMAT_R64_UINT ||
          format == VK_FORMAT_R64_SINT;
}

constexpr VkFormatFeatureFlags2 without_format =
   VK_FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT |
   VK_FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT;

constexpr VkFormatFeatureFlags2 transfers = VK_FORMAT_FEATURE_2_TRANSFER_SRC_BIT |
                                            VK_FORMAT_FEATURE_2_TRANSFER_DST_BIT |
                                            VK_FORMAT_FEATURE_2_HOST_IMAGE_TRANSFER_BIT |
                                            VK_FORMAT_FEATURE_2_COPY_IMAGE_INDIRECT_DST_BIT_KHR;

/// Vertices are read by graphics pipelines only, which are refused; programs look for the feature.
bool claims_vertices(VkFormat format)
{
   if (!settings().graphics_queue || vk_format_to_pipe_format(format) == PIPE_FORMAT_NONE)
      return false;
   const bool is_plain = vk_format_is_color(format) &&
                         vk_format_description(format)->layout == UTIL_FORMAT_LAYOUT_PLAIN;
   return is_plain || buffer_format(format);
}

VkFormatFeatureFlags2 texel_buffer_features(VkFormat format)
{
   const std::optional<TexelFormat> texels = buffer_format(format);
   if (!texels)
      return 0;
   VkFormatFeatureFlags2 features =
      is_wide(*texels) ? 0 : VK_FORMAT_FEATURE_2_UNIFORM_TEXEL_BUFFER_BIT;
   if (may_store(*texels))
      features |= VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT | without_format;
   if (has_atomics(format))
      features |= VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_ATOMIC_BIT;
   return features;
}

VkFormatFeatureFlags2 buffer_features(VkFormat format)
{
   return texel_buffer_features(format) |
          (claims_vertices(format) ? VK_FORMAT_FEATURE_2_VERTEX_BUFFER_BIT : 0);
}

/// Chromas are reconstructed implicitly, at both locations.
constexpr VkFormatFeatureFlags2 planar_features =
   transfers | VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT |
   VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT |
   VK_FORMAT_FEATURE_2_COSITED_CHROMA_SAMPLES_BIT |
   VK_FORMAT_FEATURE_2_MIDPOINT_CHROMA_SAMPLES_BIT |
   VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER_BIT;

/// Depths and stencils are copied on queues without graphics too (VK_KHR_maintenance10).
VkFormatFeatureFlags2 plane_copies(VkFormat format)
{
   VkFormatFeatureFlags2 features = 0;
   if (vk_format_has_depth(format))
      features |= VK_FORMAT_FEATURE_2_DEPTH_COPY_ON_COMPUTE_QUEUE_BIT_KHR |
                  VK_FORMAT_FEATURE_2_DEPTH_COPY_ON_TRANSFER_QUEUE_BIT_KHR;
   if (vk_format_has_stencil(format))
      features |= VK_FORMAT_FEATURE_2_STENCIL_COPY_ON_COMPUTE_QUEUE_BIT_KHR |
                  VK_FORMAT_FEATURE_2_STENCIL_COPY_ON_TRANSFER_QUEUE_BIT_KHR;
   return features;
}

/// Scaled formats are for buffers only, as on other devices. The CTS clears such images by
/// integers, where Vulkan has floats (VkClearColorValue).
VkFormatFeatureFlags2 image_features(VkFormat format)
{
   if (planes_of(format))
      return planar_features;
   const std::optional<TexelFormat> texels = plane_format(format, vk_format_aspects(format));
   if (!texels || texels->numbers == TexelNumbers::scaled)
      return 0;
   const bool has_depth = vk_format_has_depth(format);
   VkFormatFeatureFlags2 features = transfers | plane_copies(format);
   if (!is_wide(*texels))
      features |= VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT;
   if (texels->numbers != TexelNumbers::integer)
      features |= VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_LINEAR_BIT |
                  VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_FILTER_MINMAX_BIT;
   if (has_depth)
      features |= VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_DEPTH_COMPARISON_BIT;
   if (may_store(*texels) && !vk_format_is_depth_or_stencil(format))
      features |= VK_FORMAT_FEATURE_2_STORAGE_IMAGE_BIT | without_format;
   if (has_atomics(format))
      features |= VK_FORMAT_FEATURE_2_STORAGE_IMAGE_ATOMIC_BIT;
   return features;
}

/// Attachments are cleared, loaded and stored (command_rendering.cc). Blending is a part of
/// pipelines, which are refused.
VkFormatFeatureFlags2 attachment_features(VkFormat format)
{
   if (!settings().graphics_queue)
      return 0;
   const std::optional<TexelFormat> texels = plane_format(format, vk_format_aspects(format));
   if (!texels)
      return 0;
   if (vk_format_is_depth_or_stencil(format))
      return VK_FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT;
   switch (texels->numbers) {
   case TexelNumbers::integer:
      return is_wide(*texels) ? 0 : VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT;
   case TexelNumbers::normalized:
   case TexelNumbers::srgb:
   case TexelNumbers::floating:
      return VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT |
             VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BLEND_BIT;
   default:
      return 0;
   }
}

constexpr VkFormatFeatureFlags2 any_attachment =
   VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT | VK_FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT;

/// Blits (command_blit.cc) read all images except texels of 64 bits, and write the formats of
/// attachments.
VkFormatFeatureFlags2 blit_features(VkFormatFeatureFlags2 features)
{
   if (!settings().graphics_queue ||
       !(features & (any_attachment | VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT)))
      return 0;
   return VK_FORMAT_FEATURE_2_BLIT_SRC_BIT |
          (features & any_attachment ? VK_FORMAT_FEATURE_2_BLIT_DST_BIT : 0);
}

FormatFeatures format_features(VkFormat format)
{
   const VkFormatFeatureFlags2 image = image_features(format) | attachment_features(format);
   const VkFormatFeatureFlags2 blits = planes_of(format) ? 0 : blit_features(image);
   return {image | blits, buffer_features(format)};
}

/// Only images that may be attachments have several samples (VkImageFormatProperties).
VkSampleCountFlags samples_of(const VkPhysicalDeviceImageFormatInfo2 &info)
{
   const bool may_have = attachment_features(info.format) && !is_partially_resident(info.flags) &&
                         may_have_samples(info.type, info.tiling, info.flags, info.format);
   return may_have ? sample_counts : VkSampleCountFlags(VK_SAMPLE_COUNT_1_BIT);
}

constexpr VkImageUsageFlags image_usages =
   VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT |
   VK_IMAGE_USAGE_HOST_TRANSFER_BIT | VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT;
constexpr VkImageUsageFlags either_attachment =
   VK_IMAGE_USAGE_INPUT_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSIENT_ATTACHMENT_BIT;
constexpr VkImageUsageFlags attachment_usages = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                                                VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT |
                                                either_attachment;
constexpr VkImageCreateFlags image_flags =
   VK_IMAGE_CREATE_MUTABLE_FORMAT_BIT | VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT |
   VK_IMAGE_CREATE_ALIAS_BIT | VK_IMAGE_CREATE_2D_ARRAY_COMPATIBLE_BIT |
   VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT | VK_IMAGE_CREATE_EXTENDED_USAGE_BIT |
   VK_IMAGE_CREATE_DESCRIPTOR_BUFFER_CAPTURE_REPLAY_BIT_EXT | sparse_image_flags;

/// Views of other formats have another usage only with the flag for extended usage. Only compressed
/// images have flags for their blocks, and two dimensions or three.
bool is_supported(const VkPhysicalDeviceImageFormatInfo2 &info)
{
   const VkFormatFeatureFlags2 features = format_features(info.format).image;
   const auto may_be_used = [&](VkImageUsageFlags usage, VkFormatFeatureFlags2 feature) {
      return !(info.usage & usage) || info.flags & VK_IMAGE_CREATE_EXTENDED_USAGE_BIT ||
             features & feature;
   };
   const bool is_compressed = vk_format_is_compressed(info.format);
   const VkImageCreateFlags flags =
      image_flags | (is_compressed ? VK_IMAGE_CREATE_BLOCK_TEXEL_VIEW_COMPATIBLE_BIT : 0);
   if (is_compressed && info.type == VK_IMAGE_TYPE_1D)
      return false;
   if (is_partially_resident(info.flags) && !may_be_partially_resident(info))
      return false;
   if (planes_of(info.format) && info.type != VK_IMAGE_TYPE_2D)
      return false;
   const VkImageUsageFlags usages =
      image_usages | (settings().graphics_queue ? attachment_usages : 0);
   return features != 0 &&
          may_be_used(VK_IMAGE_USAGE_STORAGE_BIT, VK_FORMAT_FEATURE_2_STORAGE_IMAGE_BIT) &&
          may_be_used(VK_IMAGE_USAGE_SAMPLED_BIT, VK_FORMAT_FEATURE_2_SAMPLED_IMAGE_BIT) &&
          may_be_used(VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT,
                      VK_FORMAT_FEATURE_2_COLOR_ATTACHMENT_BIT) &&
          may_be_used(VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
                      VK_FORMAT_FEATURE_2_DEPTH_STENCIL_ATTACHMENT_BIT) &&
          may_be_used(either_attachment, any_attachment) && !(info.usage & ~usages) &&
          !(info.flags & ~flags) &&
          (info.tiling == VK_IMAGE_TILING_OPTIMAL || info.tiling == VK_IMAGE_TILING_LINEAR);
}

} // namespace
} // namespace weft

using namespace weft;

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceFormatProperties2(
   VkPhysicalDevice, VkFormat format, VkFormatProperties2 *pFormatProperties)
{
   const FormatFeatures features = format_features(format);
   pFormatProperties->formatProperties = {
      .linearTilingFeatures = vk_format_features2_to_features(features.image),
      .optimalTilingFeatures = vk_format_features2_to_features(features.image),
      .bufferFeatures = vk_format_features2_to_features(features.buffer),
   };
   VkFormatProperties3 *properties3 = vk_find_struct(pFormatProperties->pNext, FORMAT_PROPERTIES_3);
   if (properties3) {
      properties3->linearTilingFeatures = features.image;
      properties3->optimalTilingFeatures = features.image;
      properties3->bufferFeatures = features.buffer;
   }
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetPhysicalDeviceImageFormatProperties2(
   VkPhysicalDevice physicalDevice, const VkPhysicalDeviceImageFormatInfo2 *pInfo,
   VkImageFormatProperties2 *pImageFormatProperties)
{
   VK_FROM_HANDLE(vk_physical_device, pdev, physicalDevice);
   pImageFormatProperties->imageFormatProperties = {};
   const VkPhysicalDeviceExternalImageFormatInfo *external_info =
      vk_find_struct_const(pInfo->pNext, PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO);
   const auto handle =
      external_info ? external_info->handleType : VkExternalMemoryHandleTypeFlagBits(0);
   const VkExternalMemoryProperties memory =
      external_memory_properties(handle, pInfo->flags & sparse_image_flags);
   if (!is_supported(*pInfo) || (handle && !memory.externalMemoryFeatures))
      return vk_error(pdev, VK_ERROR_FORMAT_NOT_SUPPORTED);
   pImageFormatProperties->imageFormatProperties = image_limits(pInfo->format, pInfo->type);
   VkSamplerYcbcrConversionImageFormatProperties *conversion = vk_find_struct(
      pImageFormatProperties->pNext, SAMPLER_YCBCR_CONVERSION_IMAGE_FORMAT_PROPERTIES);
   if (conversion)
      conversion->combinedImageSamplerDescriptorCount =
         planes_of(pInfo->format) ? converted_descriptors : 1;
   VkExternalImageFormatProperties *external =
      vk_find_struct(pImageFormatProperties->pNext, EXTERNAL_IMAGE_FORMAT_PROPERTIES);
   if (external)
      external->externalMemoryProperties = memory;
   pImageFormatProperties->imageFormatProperties.sampleCounts = samples_of(*pInfo);
   // The usage for copies by the host changes nothing about an image.
   VkHostImageCopyDevicePerformanceQuery *performance =
      vk_find_struct(pImageFormatProperties->pNext, HOST_IMAGE_COPY_DEVICE_PERFORMANCE_QUERY);
   if (performance)
      performance->optimalDeviceAccess = performance->identicalMemoryLayout = true;
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceSparseImageFormatProperties2(
   VkPhysicalDevice, const VkPhysicalDeviceSparseImageFormatInfo2 *pFormatInfo,
   uint32_t *pPropertyCount, VkSparseImageFormatProperties2 *pProperties)
{
   OutArray<VkSparseImageFormatProperties2> out(pProperties, pPropertyCount);
   const VkPhysicalDeviceImageFormatInfo2 image = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
      .format = pFormatInfo->format,
      .type = pFormatInfo->type,
      .tiling = pFormatInfo->tiling,
      .usage = pFormatInfo->usage,
      .flags = VK_IMAGE_CREATE_SPARSE_BINDING_BIT | VK_IMAGE_CREATE_SPARSE_RESIDENCY_BIT,
   };
   if (!is_supported(image) || pFormatInfo->samples != VK_SAMPLE_COUNT_1_BIT)
      return;
   if (VkSparseImageFormatProperties2 *to = out.append())
      to->properties = sparse_properties(pFormatInfo->format, pFormatInfo->type);
}
