// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Format queries. No format is supported, because the driver has no images and no texel buffers.

#include "vulkan_util/out_array.h"
#include "weft_entrypoints.h"

#include "vk_log.h"
#include "vk_physical_device.h"
#include "vk_util.h"

using namespace weft;

VKAPI_ATTR void VKAPI_CALL weft_GetPhysicalDeviceFormatProperties2(
   VkPhysicalDevice, VkFormat, VkFormatProperties2 *pFormatProperties)
{
   pFormatProperties->formatProperties = {};
   VkFormatProperties3 *properties3 = vk_find_struct(pFormatProperties->pNext, FORMAT_PROPERTIES_3);
   if (properties3) {
      properties3->linearTilingFeatures = 0;
      properties3->optimalTilingFeatures = 0;
      properties3->bufferFeatures = 0;
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
