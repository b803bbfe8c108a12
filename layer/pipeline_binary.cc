// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/pipeline_binary.h"

#include "layer/edited_pipeline.h"
#include "layer/guard.h"

#include <optional>

namespace weft::layer {

namespace {

/// A VkPipelineCreateInfoKHR. Its chain has the description of a pipeline.
class EditedBinaryInfo {
public:
   VkResult edit(const Device &device, const VkPipelineCreateInfoKHR &original)
   {
      info = original;
      if (auto *found = vk_find_struct_const(original.pNext, COMPUTE_PIPELINE_CREATE_INFO)) {
         compute.emplace(device, *found);
         const VkResult result = compute->edit(true, false);
         info.pNext = const_cast<VkComputePipelineCreateInfo *>(&compute->finish());
         return result;
      }
      if (auto *found = vk_find_struct_const(original.pNext, GRAPHICS_PIPELINE_CREATE_INFO))
         return edit(device, *found, graphics);
      if (auto *found = vk_find_struct_const(original.pNext, RAY_TRACING_PIPELINE_CREATE_INFO_KHR))
         return edit(device, *found, ray_tracing);
      return VK_SUCCESS;
   }

   VkPipelineCreateInfoKHR info = {};

private:
   template <typename Info>
   VkResult edit(const Device &device, const Info &original,
                 std::optional<EditedPipeline<Info>> &edited)
   {
      if (!needs_edit(device, stages_of(original)))
         return VK_SUCCESS;
      edited.emplace(device, original);
      const VkResult result = edited->edit();
      info.pNext = const_cast<Info *>(&edited->finish());
      return result;
   }

   std::optional<EditedComputePipeline> compute;
   std::optional<EditedPipeline<VkGraphicsPipelineCreateInfo>> graphics;
   std::optional<EditedPipeline<VkRayTracingPipelineCreateInfoKHR>> ray_tracing;
};

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_key(VkDevice handle,
                                                const VkPipelineCreateInfoKHR *info,
                                                VkPipelineBinaryKeyKHR *key)
{
   Device *device = find_device(handle);
   if (!info)
      return device->next.GetPipelineKeyKHR(handle, info, key);
   return guarded([&] {
      EditedBinaryInfo edited;
      const VkResult result = edited.edit(*device, *info);
      if (result != VK_SUCCESS)
         return result;
      return device->next.GetPipelineKeyKHR(handle, &edited.info, key);
   });
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipeline_binaries(VkDevice handle,
                                                        const VkPipelineBinaryCreateInfoKHR *info,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkPipelineBinaryHandlesInfoKHR *binaries)
{
   Device *device = find_device(handle);
   if (!info->pPipelineCreateInfo)
      return device->next.CreatePipelineBinariesKHR(handle, info, allocator, binaries);
   return guarded([&] {
      EditedBinaryInfo edited;
      const VkResult result = edited.edit(*device, *info->pPipelineCreateInfo);
      if (result != VK_SUCCESS)
         return result;
      VkPipelineBinaryCreateInfoKHR edited_info = *info;
      edited_info.pPipelineCreateInfo = &edited.info;
      return device->next.CreatePipelineBinariesKHR(handle, &edited_info, allocator, binaries);
   });
}

} // namespace weft::layer
