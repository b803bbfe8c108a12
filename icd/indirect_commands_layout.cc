// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/indirect_commands_layout.h"

#include "icd/device.h"
#include "icd/log.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

#include <algorithm>

using namespace weft;

namespace {

/// False if the token sets push constants that no pipeline has.
bool add_token(const VkIndirectCommandsLayoutTokenEXT &token, IndirectCommandsLayout *layout)
{
   uint64_t size = 0;
   switch (token.type) {
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_EXECUTION_SET_EXT:
      layout->element = token.offset;
      size = sizeof(uint32_t);
      break;
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT:
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_SEQUENCE_INDEX_EXT: {
      const bool is_number = token.type == VK_INDIRECT_COMMANDS_TOKEN_TYPE_SEQUENCE_INDEX_EXT;
      const VkPushConstantRange &range = token.data.pPushConstant->updateRange;
      const uint32_t set_bytes = is_number ? sizeof(uint32_t) : range.size;
      if (range.offset > max_push_constants_size ||
          set_bytes > max_push_constants_size - range.offset)
         return false;
      layout->pushes[layout->push_count++] = {is_number ? no_token : token.offset, range.offset,
                                              set_bytes};
      layout->kept_constants = std::min(layout->kept_constants, range.offset);
      size = is_number ? 0 : set_bytes; // memory has a number too, which nothing reads
      break;
   }
   case VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT:
      layout->dispatch = token.offset;
      size = sizeof(VkDispatchIndirectCommand);
      break;
   default: // a draw's
      break;
   }
   const uint64_t end = token.offset + size;
   layout->bytes = uint32_t(std::max<uint64_t>(layout->bytes, std::min<uint64_t>(end, UINT32_MAX)));
   return true;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateIndirectCommandsLayoutEXT(
   VkDevice _device, const VkIndirectCommandsLayoutCreateInfoEXT *pCreateInfo,
   const VkAllocationCallbacks *pAllocator, VkIndirectCommandsLayoutEXT *pIndirectCommandsLayout)
{
   VK_FROM_HANDLE(Device, device, _device);
   const size_t size = sizeof(IndirectCommandsLayout) +
                       size_t(pCreateInfo->tokenCount) * sizeof(IndirectCommandsLayout::Push);
   auto *layout = static_cast<IndirectCommandsLayout *>(
      vk_object_zalloc(&device->vk, pAllocator, size, VK_OBJECT_TYPE_INDIRECT_COMMANDS_LAYOUT_EXT));
   if (!layout)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   layout->stride = pCreateInfo->indirectStride;
   layout->dispatch = layout->element = no_token;
   layout->kept_constants = max_push_constants_size;
   for (uint32_t i = 0; i < pCreateInfo->tokenCount; i++) {
      if (add_token(pCreateInfo->pTokens[i], layout))
         continue;
      vk_object_free(&device->vk, pAllocator, layout);
      report_error(&device->vk.base, "vkCreateIndirectCommandsLayoutEXT: a token sets push "
                                     "constants behind maxPushConstantsSize");
      return VK_ERROR_UNKNOWN;
   }
   *pIndirectCommandsLayout = IndirectCommandsLayout_to_handle(layout);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyIndirectCommandsLayoutEXT(
   VkDevice _device, VkIndirectCommandsLayoutEXT indirectCommandsLayout,
   const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(IndirectCommandsLayout, layout, indirectCommandsLayout);
   if (layout)
      vk_object_free(&device->vk, pAllocator, layout);
}
