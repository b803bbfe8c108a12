// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "backend/cpu/abi.h"
#include "backend/cpu/compiler.h"

#include <vulkan/vulkan_core.h>

namespace weft {

struct Device;

/// The description of a compute shader in the compiler's terms. The application's description must
/// outlive it, because `source` refers to it.
struct ShaderRequest {
   ShaderSource source;
   cpu::CompileOptions options;
   CacheKey key;
   uint32_t dynamic_base[cpu::max_sets + 1] = {}; ///< as in ComputeShader
};

ShaderRequest make_request(const Device *, const VkComputePipelineCreateInfo &);
/// Of a shader object whose code is SPIR-V.
ShaderRequest make_request(const Device *, const VkShaderCreateInfoEXT &);

/// The numbers of the dynamic buffers with these set layouts, for ComputeShader::dynamic_base.
void number_dynamic_buffers(const VkComputePipelineCreateInfo &, uint32_t *dynamic_base);
void number_dynamic_buffers(const VkShaderCreateInfoEXT &, uint32_t *dynamic_base);

} // namespace weft
