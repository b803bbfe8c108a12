// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_sampler.h"

#include "nir_passes/images/texel_descriptor.h"

namespace weft {

struct Sampler {
   vk_sampler vk;
   SamplerDescriptor descriptor;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(Sampler, vk.base, VkSampler, VK_OBJECT_TYPE_SAMPLER)

} // namespace weft
