// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/resource_memory.h"

#include "icd/device_pages.h"
#include "icd/physical_device.h"

#include "util/u_math.h"
#include "vk_util.h"

namespace weft {

void write_requirements(uint64_t size, uint64_t sparse_block, VkMemoryRequirements2 *requirements)
{
   const uint64_t alignment = sparse_block ? sparse_block : memory_alignment;
   requirements->memoryRequirements = {
      .size = align64(size, alignment),
      .alignment = alignment,
      .memoryTypeBits = sparse_block ? 1u << sparse_memory : (1u << memory_types) - 1,
   };
   vk_foreach_struct(ext, requirements->pNext)
   {
      if (ext->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS) {
         auto *dedicated = reinterpret_cast<VkMemoryDedicatedRequirements *>(ext);
         dedicated->prefersDedicatedAllocation = false;
         dedicated->requiresDedicatedAllocation = false;
      }
   }
}

VkExternalMemoryProperties external_memory_properties(VkExternalMemoryHandleTypeFlagBits type,
                                                      bool is_sparse)
{
   switch (type) {
   case VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT:
      return {
         .externalMemoryFeatures =
            VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
         .exportFromImportedHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
         .compatibleHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT,
      };
   case VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT:
      // The program's pages need not be a shared mapping.
      if (is_sparse)
         return {.compatibleHandleTypes = VkExternalMemoryHandleTypeFlags(type)};
      return {
         .externalMemoryFeatures = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
         .exportFromImportedHandleTypes = 0,
         .compatibleHandleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
      };
   default:
      // VkExternalMemoryProperties: a handle type is always compatible with itself.
      return {.compatibleHandleTypes = VkExternalMemoryHandleTypeFlags(type)};
   }
}

} // namespace weft
