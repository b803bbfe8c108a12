// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The shaders between which generated commands choose (VK_EXT_device_generated_commands).

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_object.h"

#include <cstdint>

namespace weft {

struct ComputeShader;

/// The largest number of elements; each takes a pointer.
constexpr uint32_t max_execution_set_elements = 1 << 20;

struct IndirectExecutionSet {
   vk_object_base base;
   uint32_t count;
   /// Of pipelines or shader objects, which live at least as long as the set; null: not written.
   const ComputeShader *shaders[];

   /// Null for an index that the set does not have.
   const ComputeShader *shader(uint32_t index) const
   {
      return index < count ? shaders[index] : nullptr;
   }
   void write(uint32_t index, const ComputeShader *shader)
   {
      if (index < count)
         shaders[index] = shader;
   }
};

VK_DEFINE_NONDISP_HANDLE_CASTS(IndirectExecutionSet, base, VkIndirectExecutionSetEXT,
                               VK_OBJECT_TYPE_INDIRECT_EXECUTION_SET_EXT)

} // namespace weft
