// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_descriptor_buffer: descriptors in the application's memory. They lie as in a
/// VkDescriptorSet (descriptor_set_layout.h), and a set of a dispatch is an address.

#include "icd/buffer.h"
#include "icd/buffer_view.h"
#include "icd/command_buffer.h"
#include "icd/descriptor_set.h"
#include "icd/descriptor_set_layout.h"
#include "icd/image.h"
#include "icd/image_view.h"
#include "icd/sampler.h"
#include "weft_entrypoints.h"

#include "vk_pipeline_layout.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace weft;

namespace {

template <typename T>
void put(const T &descriptor, size_t size, void *out)
{
   memcpy(out, &descriptor, std::min(size, sizeof(descriptor)));
}

TexelDescriptor describe(const VkDescriptorAddressInfoEXT *texels)
{
   const std::optional<TexelFormat> format = texels ? buffer_format(texels->format) : std::nullopt;
   return format ? describe_texels(texels->address, texels->range, *format) : TexelDescriptor{};
}

SampledImageDescriptor describe(const VkDescriptorImageInfo *image)
{
   return image ? sampled_descriptor(image->imageView) : SampledImageDescriptor{};
}

/// The view has several planes, the sampler their conversion.
ConvertedDescriptor describe_converted(const VkDescriptorImageInfo &image)
{
   VK_FROM_HANDLE(Sampler, sampler, image.sampler);
   return {converted_descriptor(image.imageView), sampler->conversion, sampler->descriptor};
}

/// A set layout's descriptors, which are all samplers.
BoundSet embedded_samplers(CommandBuffer *cmd, const DescriptorSetLayout *layout)
{
   auto *data = static_cast<uint8_t *>(allocate_command_memory(cmd, layout->data_size));
   if (!data)
      return {};
   memset(data, 0, layout->data_size);
   write_immutable_samplers({.layout = layout, .data = data, .dynamic = nullptr},
                            layout->data_size);
   return {data, nullptr, layout->data_size};
}

/// Sparse resources have addresses of their own. Others have that of their memory, which programs
/// capture by itself.
VkResult capture(void *data, const uint8_t *sparse_address = nullptr)
{
   const uint64_t address = uintptr_t(sparse_address);
   static_assert(sizeof(address) == capture_bytes);
   memcpy(data, &address, capture_bytes);
   return VK_SUCCESS;
}

} // namespace

VKAPI_ATTR void VKAPI_CALL weft_GetDescriptorSetLayoutSizeEXT(VkDevice,
                                                              VkDescriptorSetLayout _layout,
                                                              VkDeviceSize *pLayoutSizeInBytes)
{
   VK_FROM_HANDLE(DescriptorSetLayout, layout, _layout);
   *pLayoutSizeInBytes = layout->data_size;
}

VKAPI_ATTR void VKAPI_CALL weft_GetDescriptorSetLayoutBindingOffsetEXT(
   VkDevice, VkDescriptorSetLayout _layout, uint32_t binding, VkDeviceSize *pOffset)
{
   VK_FROM_HANDLE(DescriptorSetLayout, layout, _layout);
   const DescriptorBinding *found = layout->find(binding);
   *pOffset = found ? found->offset : 0;
}

VKAPI_ATTR void VKAPI_CALL weft_GetDescriptorEXT(VkDevice,
                                                 const VkDescriptorGetInfoEXT *pDescriptorInfo,
                                                 size_t dataSize, void *pDescriptor)
{
   const VkDescriptorDataEXT &data = pDescriptorInfo->data;
   switch (pDescriptorInfo->type) {
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER: {
      const VkDescriptorAddressInfoEXT *buffer = data.pStorageBuffer;
      put(buffer ? describe_buffer(buffer->address, buffer->range) : cpu::BufferDescriptor{},
          dataSize, pDescriptor);
      break;
   }
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      put(describe(data.pStorageTexelBuffer), dataSize, pDescriptor);
      break;
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      put(data.pStorageImage ? storage_descriptor(data.pStorageImage->imageView)
                             : ImageDescriptor{},
          dataSize, pDescriptor);
      break;
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      put(describe(data.pSampledImage), dataSize, pDescriptor);
      break;
   case VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT:
      put(describe(data.pInputAttachmentImage), dataSize, pDescriptor);
      break;
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      put(CombinedDescriptor{{}, sampler_descriptor(*data.pSampler)}, dataSize, pDescriptor);
      break;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER: {
      const VkDescriptorImageInfo &image = *data.pCombinedImageSampler;
      // The size of a null image's descriptor does not depend on the sampler.
      if (dataSize == sizeof(ConvertedDescriptor))
         put(describe_converted(image), dataSize, pDescriptor);
      else
         put(CombinedDescriptor{describe(&image), sampler_descriptor(image.sampler)}, dataSize,
             pDescriptor);
      break;
   }
   default: // has no bytes
      break;
   }
}

VKAPI_ATTR void VKAPI_CALL
weft_CmdBindDescriptorBuffersEXT(VkCommandBuffer commandBuffer, uint32_t bufferCount,
                                 const VkDescriptorBufferBindingInfoEXT *pBindingInfos)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   for (uint32_t i = 0; i < bufferCount; i++)
      cmd->state.descriptor_buffers[i] = pBindingInfos[i].address;
}

VKAPI_ATTR void VKAPI_CALL weft_CmdSetDescriptorBufferOffsets2EXT(
   VkCommandBuffer commandBuffer,
   const VkSetDescriptorBufferOffsetsInfoEXT *pSetDescriptorBufferOffsetsInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   const VkSetDescriptorBufferOffsetsInfoEXT &info = *pSetDescriptorBufferOffsetsInfo;
   if (!(info.stageFlags & VK_SHADER_STAGE_COMPUTE_BIT))
      return;
   for (uint32_t i = 0; i < info.setCount; i++) {
      const VkDeviceAddress address =
         cmd->state.descriptor_buffers[info.pBufferIndices[i]] + info.pOffsets[i];
      cmd->state.bind(info.firstSet + i,
                      {reinterpret_cast<const uint8_t *>(uintptr_t(address)), nullptr, 0});
   }
}

VKAPI_ATTR void VKAPI_CALL weft_CmdBindDescriptorBufferEmbeddedSamplers2EXT(
   VkCommandBuffer commandBuffer,
   const VkBindDescriptorBufferEmbeddedSamplersInfoEXT *pBindDescriptorBufferEmbeddedSamplersInfo)
{
   VK_FROM_HANDLE(CommandBuffer, cmd, commandBuffer);
   const VkBindDescriptorBufferEmbeddedSamplersInfoEXT &info =
      *pBindDescriptorBufferEmbeddedSamplersInfo;
   VK_FROM_HANDLE(vk_pipeline_layout, layout, info.layout);
   if (!(info.stageFlags & VK_SHADER_STAGE_COMPUTE_BIT))
      return;
   cmd->state.bind(info.set, embedded_samplers(cmd, reinterpret_cast<const DescriptorSetLayout *>(
                                                       layout->set_layouts[info.set])));
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetBufferOpaqueCaptureDescriptorDataEXT(
   VkDevice, const VkBufferCaptureDescriptorDataInfoEXT *pInfo, void *pData)
{
   VK_FROM_HANDLE(Buffer, buffer, pInfo->buffer);
   return capture(pData, buffer->is_sparse() ? buffer->address : nullptr);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetImageOpaqueCaptureDescriptorDataEXT(
   VkDevice, const VkImageCaptureDescriptorDataInfoEXT *pInfo, void *pData)
{
   VK_FROM_HANDLE(Image, image, pInfo->image);
   return capture(pData, image->is_sparse() ? image->address : nullptr);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetImageViewOpaqueCaptureDescriptorDataEXT(
   VkDevice, const VkImageViewCaptureDescriptorDataInfoEXT *, void *pData)
{
   return capture(pData);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetSamplerOpaqueCaptureDescriptorDataEXT(
   VkDevice, const VkSamplerCaptureDescriptorDataInfoEXT *, void *pData)
{
   return capture(pData);
}
