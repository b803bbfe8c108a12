// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_pipeline_binary: a compute pipeline has one binary.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_object.h"

#include "icd/program_binary.h"

#include <cstddef>
#include <mutex>
#include <vector>

namespace weft {

struct PipelineBinary {
   vk_object_base base;
   KeyedPrograms shader;

   std::mutex mutex;
   /// The answer of vkGetPipelineBinaryDataKHR, made by the first call. Later calls must have the
   /// same, although dispatches add programs.
   std::vector<std::byte> bytes;
};

VK_DEFINE_NONDISP_HANDLE_CASTS(PipelineBinary, base, VkPipelineBinaryKHR,
                               VK_OBJECT_TYPE_PIPELINE_BINARY_KHR)

/// The programs of a pipeline that is made of a binary; null if it is made of a shader.
const KeyedPrograms *programs_of_binary(const VkComputePipelineCreateInfo &);

} // namespace weft
