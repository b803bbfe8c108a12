// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The compiled shader that a pipeline and a shader object have in common.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_pipeline_cache.h"

#include "backend/cpu/abi.h"
#include "backend/cpu/compiler.h"

namespace weft {

struct Device;
struct ProgramObject;
struct ShaderRequest;

struct ComputeShader {
   ProgramObject *object;
   /// The dynamic buffers of set s have the numbers dynamic_base[s] to dynamic_base[s + 1] - 1 in
   /// the dynamic slot.
   uint32_t dynamic_base[cpu::max_sets + 1];

   cpu::Programs &programs() const;
};

/// The cache of compiled shaders, unless the application has disabled it for the device
/// (VkDevicePipelineBinaryInternalCacheControlKHR).
DiskCache *program_cache(const Device *);

/// Compiles a shader that `command` is to create, or takes its programs from the disk cache. Stores
/// them in the pipeline cache, which may be null. VK_PIPELINE_COMPILE_REQUIRED if !may_compile and
/// no cache has the programs. Throws std::bad_alloc.
VkResult compile_shader(Device *, const char *command, const ShaderRequest &, bool may_compile,
                        vk_pipeline_cache *, ProgramObject **out);

} // namespace weft
