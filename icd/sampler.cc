// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Every device can create samplers, because they need no format; but no shader has an image to use
/// one with.

#include "icd/device.h"
#include "weft_entrypoints.h"

#include "vk_log.h"
#include "vk_sampler.h"

using namespace weft;

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateSampler(VkDevice _device,
                                                  const VkSamplerCreateInfo *pCreateInfo,
                                                  const VkAllocationCallbacks *pAllocator,
                                                  VkSampler *pSampler)
{
   VK_FROM_HANDLE(Device, device, _device);
   auto *sampler = static_cast<vk_sampler *>(
      vk_sampler_create(&device->vk, pCreateInfo, pAllocator, sizeof(vk_sampler)));
   if (!sampler)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   *pSampler = vk_sampler_to_handle(sampler);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroySampler(VkDevice _device, VkSampler _sampler,
                                               const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(vk_sampler, sampler, _sampler);
   if (sampler)
      vk_sampler_destroy(&device->vk, pAllocator, sampler);
}
