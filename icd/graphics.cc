// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vulkan's commands for images and graphics, which this device lacks. Every command of Vulkan 1.3
/// must have an address. Commands that create an object fail. Commands that need an
/// object which cannot be created, or a graphics queue, do nothing.

#include "icd/device.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

#include <algorithm>

using namespace weft;

namespace {

/// These commands may not return VK_ERROR_FORMAT_NOT_SUPPORTED and similar codes.
VkResult unsupported_format(VkDevice _device)
{
   VK_FROM_HANDLE(Device, device, _device);
   return vk_errorf(device, VK_ERROR_UNKNOWN, "no format of images is supported");
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateImage(VkDevice device, const VkImageCreateInfo *,
                                                const VkAllocationCallbacks *, VkImage *pImage)
{
   *pImage = VK_NULL_HANDLE;
   return unsupported_format(device);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateImageView(VkDevice device, const VkImageViewCreateInfo *,
                                                    const VkAllocationCallbacks *,
                                                    VkImageView *pView)
{
   *pView = VK_NULL_HANDLE;
   return unsupported_format(device);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateGraphicsPipelines(VkDevice _device, VkPipelineCache,
                                                            uint32_t createInfoCount,
                                                            const VkGraphicsPipelineCreateInfo *,
                                                            const VkAllocationCallbacks *,
                                                            VkPipeline *pPipelines)
{
   VK_FROM_HANDLE(Device, device, _device);
   std::fill_n(pPipelines, createInfoCount, VkPipeline(VK_NULL_HANDLE));
   return vk_errorf(device, VK_ERROR_UNKNOWN, "there is no graphics queue");
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyImage(VkDevice, VkImage, const VkAllocationCallbacks *) {}
VKAPI_ATTR void VKAPI_CALL weft_DestroyImageView(VkDevice, VkImageView,
                                                 const VkAllocationCallbacks *)
{
}

VKAPI_ATTR void VKAPI_CALL weft_GetDeviceImageMemoryRequirements(
   VkDevice, const VkDeviceImageMemoryRequirements *, VkMemoryRequirements2 *pMemoryRequirements)
{
   pMemoryRequirements->memoryRequirements = {.size = 0, .alignment = 1, .memoryTypeBits = 0};
}

VKAPI_ATTR void VKAPI_CALL weft_GetImageMemoryRequirements2(
   VkDevice, const VkImageMemoryRequirementsInfo2 *, VkMemoryRequirements2 *pMemoryRequirements)
{
   pMemoryRequirements->memoryRequirements = {.size = 0, .alignment = 1, .memoryTypeBits = 0};
}

VKAPI_ATTR void VKAPI_CALL weft_GetDeviceImageSparseMemoryRequirements(
   VkDevice, const VkDeviceImageMemoryRequirements *, uint32_t *pSparseMemoryRequirementCount,
   VkSparseImageMemoryRequirements2 *)
{
   *pSparseMemoryRequirementCount = 0;
}

VKAPI_ATTR void VKAPI_CALL weft_GetImageSparseMemoryRequirements2(
   VkDevice, const VkImageSparseMemoryRequirementsInfo2 *, uint32_t *pSparseMemoryRequirementCount,
   VkSparseImageMemoryRequirements2 *)
{
   *pSparseMemoryRequirementCount = 0;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_BindImageMemory2(VkDevice, uint32_t,
                                                     const VkBindImageMemoryInfo *)
{
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_CmdCopyImage2(VkCommandBuffer, const VkCopyImageInfo2 *) {}
VKAPI_ATTR void VKAPI_CALL weft_CmdBlitImage2(VkCommandBuffer, const VkBlitImageInfo2 *) {}
VKAPI_ATTR void VKAPI_CALL weft_CmdResolveImage2(VkCommandBuffer, const VkResolveImageInfo2 *) {}
VKAPI_ATTR void VKAPI_CALL weft_CmdCopyBufferToImage2(VkCommandBuffer,
                                                      const VkCopyBufferToImageInfo2 *)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdCopyImageToBuffer2(VkCommandBuffer,
                                                      const VkCopyImageToBufferInfo2 *)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdClearColorImage(VkCommandBuffer, VkImage, VkImageLayout,
                                                   const VkClearColorValue *, uint32_t,
                                                   const VkImageSubresourceRange *)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdClearDepthStencilImage(VkCommandBuffer, VkImage, VkImageLayout,
                                                          const VkClearDepthStencilValue *,
                                                          uint32_t, const VkImageSubresourceRange *)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdClearAttachments(VkCommandBuffer, uint32_t,
                                                    const VkClearAttachment *, uint32_t,
                                                    const VkClearRect *)
{
}

VKAPI_ATTR void VKAPI_CALL weft_CmdBeginRendering(VkCommandBuffer, const VkRenderingInfo *) {}
VKAPI_ATTR void VKAPI_CALL weft_CmdEndRendering(VkCommandBuffer) {}
VKAPI_ATTR void VKAPI_CALL weft_CmdBindVertexBuffers2(VkCommandBuffer, uint32_t, uint32_t,
                                                      const VkBuffer *, const VkDeviceSize *,
                                                      const VkDeviceSize *, const VkDeviceSize *)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdDraw(VkCommandBuffer, uint32_t, uint32_t, uint32_t, uint32_t) {}
VKAPI_ATTR void VKAPI_CALL weft_CmdDrawIndexed(VkCommandBuffer, uint32_t, uint32_t, uint32_t,
                                               int32_t, uint32_t)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdDrawIndirect(VkCommandBuffer, VkBuffer, VkDeviceSize, uint32_t,
                                                uint32_t)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdDrawIndexedIndirect(VkCommandBuffer, VkBuffer, VkDeviceSize,
                                                       uint32_t, uint32_t)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdDrawIndirectCount(VkCommandBuffer, VkBuffer, VkDeviceSize,
                                                     VkBuffer, VkDeviceSize, uint32_t, uint32_t)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdDrawIndexedIndirectCount(VkCommandBuffer, VkBuffer, VkDeviceSize,
                                                            VkBuffer, VkDeviceSize, uint32_t,
                                                            uint32_t)
{
}
VKAPI_ATTR void VKAPI_CALL weft_CmdBindIndexBuffer2KHR(VkCommandBuffer, VkBuffer, VkDeviceSize,
                                                       VkDeviceSize, VkIndexType)
{
}

VKAPI_ATTR void VKAPI_CALL weft_GetDeviceImageSubresourceLayoutKHR(
   VkDevice, const VkDeviceImageSubresourceInfo *, VkSubresourceLayout2 *pLayout)
{
   pLayout->subresourceLayout = {};
}

VKAPI_ATTR void VKAPI_CALL weft_GetImageSubresourceLayout2KHR(VkDevice, VkImage,
                                                              const VkImageSubresource2 *,
                                                              VkSubresourceLayout2 *pLayout)
{
   pLayout->subresourceLayout = {};
}
