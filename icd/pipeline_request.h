// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/cpu/abi.h"
#include "backend/cpu/compiler.h"

#include <vulkan/vulkan_core.h>

namespace weft {

struct Device;

/// The description of one pipeline in the compiler's terms. The VkComputePipelineCreateInfo must
/// outlive it, because `source` refers to it.
struct PipelineRequest {
   ShaderSource source;
   cpu::CompileOptions options;
   CacheKey key;
   uint32_t dynamic_base[cpu::max_sets + 1] = {}; ///< as in Pipeline
};

PipelineRequest make_request(const Device *, const VkComputePipelineCreateInfo &);

} // namespace weft
