// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vulkan's commands for draws. Every command of Vulkan 1.4 must have an address. Commands that
/// create an object fail, all others do nothing.

#include "icd/device.h"
#include "icd/log.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

#include <algorithm>

using namespace weft;

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateGraphicsPipelines(VkDevice _device, VkPipelineCache,
                                                            uint32_t createInfoCount,
                                                            const VkGraphicsPipelineCreateInfo *,
                                                            const VkAllocationCallbacks *,
                                                            VkPipeline *pPipelines)
{
   VK_FROM_HANDLE(Device, device, _device);
   std::fill_n(pPipelines, createInfoCount, VkPipeline(VK_NULL_HANDLE));
   report_error(&device->vk.base, "vkCreateGraphicsPipelines: the device only computes");
   return VK_ERROR_UNKNOWN;
}

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
