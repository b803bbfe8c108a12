// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_sampler.h"

#include "nir_passes/images/texel_descriptor.h"

#include <cstddef>

namespace weft {

/// The end of a ConvertedDescriptor; without a conversion, that of a CombinedDescriptor.
struct ImmutableSampler {
   ConversionDescriptor conversion;
   SamplerDescriptor sampler;
};
static_assert(sizeof(ImmutableSampler) ==
              sizeof(ConvertedDescriptor) - offsetof(ConvertedDescriptor, conversion));

struct Sampler {
   vk_sampler vk;
   SamplerDescriptor descriptor;
   ConversionDescriptor conversion; ///< all zeros without one
};

/// The descriptor of a sampler that may be null.
SamplerDescriptor sampler_descriptor(VkSampler);

VK_DEFINE_NONDISP_HANDLE_CASTS(Sampler, vk.base, VkSampler, VK_OBJECT_TYPE_SAMPLER)

} // namespace weft
