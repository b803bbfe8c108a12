// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/graphics_queue.h"

#include "icd/image.h"
#include "icd/settings.h"
#include "icd/sync.h"

#include <cstdint>
#include <iterator>
#include <span>

namespace weft {

std::span<const VkQueueFlags> queue_families()
{
   constexpr VkQueueFlags compute =
      VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
   static constexpr VkQueueFlags families[] = {compute | VK_QUEUE_GRAPHICS_BIT, compute};
   static_assert(std::size(families) == max_queues);
   return std::span(families).subspan(settings().graphics_queue ? 0 : 1);
}

void get_graphics_limits(vk_properties *p)
{
   p->maxVertexInputAttributes = 32;
   p->maxVertexInputBindings = 32;
   p->maxVertexInputAttributeOffset = 2047;
   p->maxVertexInputBindingStride = 2048;
   p->maxVertexOutputComponents = 128;
   p->maxFragmentInputComponents = 128;
   p->maxFragmentOutputAttachments = 8;
   p->maxFragmentCombinedOutputResources = UINT32_MAX;
   p->maxDrawIndexedIndexValue = UINT32_MAX;
   p->maxDrawIndirectCount = UINT32_MAX;
   p->maxViewports = 1;
   p->maxViewportDimensions[0] = p->maxViewportDimensions[1] = 16384;
   p->viewportBoundsRange[0] = -32768.0f;
   p->viewportBoundsRange[1] = 32767.0f;
   p->subPixelPrecisionBits = 4;
   p->minInterpolationOffset = -0.5f;
   p->maxInterpolationOffset = 0.5f;
   p->subPixelInterpolationOffsetBits = 4;
   p->maxFramebufferWidth = p->maxFramebufferHeight = 16384;
   p->maxFramebufferLayers = 256;
   p->framebufferColorSampleCounts = p->framebufferDepthSampleCounts =
      p->framebufferStencilSampleCounts = p->framebufferNoAttachmentsSampleCounts = sample_counts;
   p->maxColorAttachments = 8;
   p->maxPerStageDescriptorInputAttachments = p->maxDescriptorSetInputAttachments = 8;
   p->maxPerStageDescriptorUpdateAfterBindInputAttachments =
      p->maxDescriptorSetUpdateAfterBindInputAttachments = 8;
   p->maxSampleMaskWords = 1;
   p->maxClipDistances = p->maxCullDistances = p->maxCombinedClipAndCullDistances = 0;
   p->pointSizeGranularity = 0.125f;
   p->lineWidthGranularity = 0; // without wide lines
   p->lineSubPixelPrecisionBits = 4;
   p->standardSampleLocations = true;
   p->maxFragmentDualSrcAttachments = 1;
   p->maxVertexAttribDivisor = UINT32_MAX;
   p->supportsNonZeroFirstInstance = true;
   p->dynamicRenderingLocalReadDepthStencilAttachments = true;
   p->dynamicRenderingLocalReadMultisampledAttachments = true;
   p->supportedIndirectCommandsInputModes = VK_INDIRECT_COMMANDS_INPUT_MODE_VULKAN_INDEX_BUFFER_EXT;

   if (settings().graphics_queue) {
      // Programs take a device without a version for a driver that is not finished, and hide it.
      p->conformanceVersion = {.major = 1, .minor = 3};
      p->supportedIndirectCommandsShaderStages |=
         VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT;
   }
   // Only formats of attachments have several samples (VkImageFormatProperties).
   p->storageImageSampleCounts =
      settings().graphics_queue ? sample_counts : VkSampleCountFlags(VK_SAMPLE_COUNT_1_BIT);
}

void get_graphics_features(vk_features *f)
{
   if (!settings().graphics_queue)
      return;
   f->dualSrcBlend = true;
   f->fillModeNonSolid = true;
   f->multiDrawIndirect = true;
   f->shaderStorageImageMultisample = true;
   f->shaderDrawParameters = true;
}

} // namespace weft
