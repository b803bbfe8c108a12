// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/shader_source.h"

#include <vulkan/vulkan_core.h>

#include <vector>

namespace weft {

/// The result refers to the application's memory. An entry beyond the end of the data
/// (VUID-VkSpecializationInfo-offset-00773) is ignored.
inline std::vector<SpecConstant> read_spec_constants(const VkSpecializationInfo *info)
{
   std::vector<SpecConstant> constants;
   if (!info)
      return constants;
   const auto *data = static_cast<const std::byte *>(info->pData);
   for (uint32_t i = 0; i < info->mapEntryCount; i++) {
      const VkSpecializationMapEntry &entry = info->pMapEntries[i];
      if (entry.offset <= info->dataSize && entry.size <= info->dataSize - entry.offset)
         constants.push_back({entry.constantID, {data + entry.offset, entry.size}});
   }
   return constants;
}

} // namespace weft
