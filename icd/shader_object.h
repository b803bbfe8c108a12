// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_object: compute shaders without pipelines. The device has no other stages.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_object.h"

#include "icd/compute_shader.h"

#include <cstddef>
#include <mutex>
#include <vector>

namespace weft {

struct ShaderObject {
   vk_object_base base;
   ComputeShader shader;

   std::mutex mutex;
   /// The answer of vkGetShaderBinaryDataEXT, made by the first call. Later calls must have the
   /// same, although dispatches add programs.
   std::vector<std::byte> binary;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(ShaderObject, base, VkShaderEXT, VK_OBJECT_TYPE_SHADER_EXT)

} // namespace weft
