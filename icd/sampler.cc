// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sampler.h"

#include "icd/device.h"
#include "icd/planes.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

#include <algorithm>
#include <cstring>

namespace weft {

SamplerDescriptor sampler_descriptor(VkSampler handle)
{
   VK_FROM_HANDLE(Sampler, sampler, handle);
   return sampler ? sampler->descriptor : SamplerDescriptor{};
}

} // namespace weft

using namespace weft;

namespace {

AddressMode address_mode(VkSamplerAddressMode mode)
{
   switch (mode) {
   case VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT:
      return AddressMode::mirror;
   case VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE:
      return AddressMode::edge;
   case VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER:
      return AddressMode::border;
   case VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE:
      return AddressMode::mirror_once;
   default:
      return AddressMode::repeat;
   }
}

Reduction reduction(VkSamplerReductionMode mode)
{
   switch (mode) {
   case VK_SAMPLER_REDUCTION_MODE_MIN:
      return Reduction::least;
   case VK_SAMPLER_REDUCTION_MODE_MAX:
      return Reduction::largest;
   default:
      return Reduction::average;
   }
}

SamplerDescriptor describe_sampler(const vk_sampler &sampler, const VkSamplerCreateInfo &info)
{
   SamplerDescriptor descriptor = {
      .magnified_linear = info.magFilter == VK_FILTER_LINEAR,
      .minified_linear = info.minFilter == VK_FILTER_LINEAR,
      .levels_linear = info.mipmapMode == VK_SAMPLER_MIPMAP_MODE_LINEAR,
      .unnormalized = info.unnormalizedCoordinates != VK_FALSE,
      .address = {address_mode(info.addressModeU), address_mode(info.addressModeV),
                  address_mode(info.addressModeW)},
      .reduction = reduction(sampler.reduction_mode),
      .compare = info.compareEnable ? uint32_t(info.compareOp) : uint32_t(VK_COMPARE_OP_NEVER),
      .lod_bias = info.mipLodBias,
      .min_lod = info.minLod,
      .max_lod = info.maxLod,
      .border = {},
      .max_anisotropy =
         info.anisotropyEnable ? std::clamp(info.maxAnisotropy, 1.0f, max_anisotropy) : 1.0f,
      .single_faces = (info.flags & VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT) != 0 ? 1u : 0u,
   };
   static_assert(sizeof(descriptor.border) == sizeof(sampler.border_color_value));
   memcpy(descriptor.border, &sampler.border_color_value, sizeof(descriptor.border));
   return descriptor;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateSampler(VkDevice _device,
                                                  const VkSamplerCreateInfo *pCreateInfo,
                                                  const VkAllocationCallbacks *pAllocator,
                                                  VkSampler *pSampler)
{
   VK_FROM_HANDLE(Device, device, _device);
   auto *sampler = static_cast<Sampler *>(
      vk_sampler_create(&device->vk, pCreateInfo, pAllocator, sizeof(Sampler)));
   if (!sampler)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   sampler->descriptor = describe_sampler(sampler->vk, *pCreateInfo);
   if (sampler->vk.ycbcr_conversion)
      sampler->conversion = describe_conversion(sampler->vk.ycbcr_conversion->state);
   *pSampler = Sampler_to_handle(sampler);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroySampler(VkDevice _device, VkSampler _sampler,
                                               const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(Sampler, sampler, _sampler);
   if (sampler)
      vk_sampler_destroy(&device->vk, pAllocator, &sampler->vk);
}
