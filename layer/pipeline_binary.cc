// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/pipeline_binary.h"

#include "layer/binary_header.h"
#include "layer/edited_pipeline.h"
#include "layer/guard.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

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

   /// The changes to a lowered shader's description.
   std::optional<StagePlan> lowered_plan() const
   {
      return compute && compute->stage.shader.form == Form::lowered
                ? std::optional(compute->stage.plan)
                : std::nullopt;
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

/// The binaries of a program without their headers, and the changes that the headers name.
struct StoredBinaries {
   explicit StoredBinaries(const VkPipelineBinaryKeysAndDataKHR &original)
       : data(original.pPipelineBinaryData, original.pPipelineBinaryData + original.binaryCount),
         info(original)
   {
      for (VkPipelineBinaryDataKHR &binary : data) {
         plans.push_back(read_binary_header(binary.pData, binary.dataSize));
         if (!plans.back())
            continue;
         binary.pData = static_cast<uint8_t *>(binary.pData) + binary_header_size;
         binary.dataSize -= binary_header_size;
      }
      info.pPipelineBinaryData = data.data();
   }
   StoredBinaries(const StoredBinaries &) = delete;

   std::vector<VkPipelineBinaryDataKHR> data;
   std::vector<std::optional<StagePlan>> plans;
   VkPipelineBinaryKeysAndDataKHR info;
};

/// Remembers the changes of binaries. Without memory, no binary remains.
void remember(Device &device, std::span<VkPipelineBinaryKHR> binaries,
              const VkAllocationCallbacks *allocator, const auto &plan_of)
{
   OnFailure undo([&] {
      for (VkPipelineBinaryKHR &binary : binaries) {
         destroy_pipeline_binary(device.handle, binary, allocator);
         binary = VK_NULL_HANDLE;
      }
   });
   for (size_t i = 0; i < binaries.size(); i++) {
      if (const std::optional<StagePlan> plan = plan_of(i); plan && binaries[i])
         device.lowered_binaries.add(binaries[i], std::make_unique<StagePlan>(*plan));
   }
   undo.succeeded();
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_key(VkDevice handle,
                                                const VkPipelineCreateInfoKHR *info,
                                                VkPipelineBinaryKeyKHR *key)
{
   Device *device = find_device(handle);
   if (!info) {
      const VkResult result = device->next.GetPipelineKeyKHR(handle, info, key);
      if (result == VK_SUCCESS)
         add_binary_id({key->key, key->keySize});
      return result;
   }
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
   return guarded([&] {
      VkPipelineBinaryCreateInfoKHR edited_info = *info;
      EditedBinaryInfo edited;
      std::optional<StoredBinaries> stored;
      std::optional<StagePlan> plan; // of all binaries
      if (info->pPipelineCreateInfo) {
         const VkResult result = edited.edit(*device, *info->pPipelineCreateInfo);
         if (result != VK_SUCCESS)
            return result;
         edited_info.pPipelineCreateInfo = &edited.info;
         plan = edited.lowered_plan();
      } else if (info->pKeysAndDataInfo) {
         stored.emplace(*info->pKeysAndDataInfo);
         edited_info.pKeysAndDataInfo = &stored->info;
      } else if (const StagePlan *of_pipeline = device->lowered_pipelines.find(info->pipeline)) {
         plan = *of_pipeline;
      }
      const VkResult result =
         device->next.CreatePipelineBinariesKHR(handle, &edited_info, allocator, binaries);
      if (result >= 0 && binaries->pPipelineBinaries)
         remember(*device, {binaries->pPipelineBinaries, binaries->pipelineBinaryCount}, allocator,
                  [&](size_t i) { return stored ? stored->plans[i] : plan; });
      return result;
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_binary_data(VkDevice handle,
                                                        const VkPipelineBinaryDataInfoKHR *info,
                                                        VkPipelineBinaryKeyKHR *key, size_t *size,
                                                        void *data)
{
   const Device *device = find_device(handle);
   const StagePlan *plan = device->lowered_binaries.find(info->pipelineBinary);
   if (!plan)
      return device->next.GetPipelineBinaryDataKHR(handle, info, key, size, data);
   // If the space does not suffice for a header, the driver reports the size that it needs.
   const bool has_space = data && *size >= binary_header_size;
   size_t driver_size = has_space ? *size - binary_header_size : 0;
   void *drivers = has_space ? static_cast<uint8_t *>(data) + binary_header_size : data;
   const VkResult result =
      device->next.GetPipelineBinaryDataKHR(handle, info, key, &driver_size, drivers);
   *size = driver_size + binary_header_size;
   if (result != VK_SUCCESS || !data)
      return result;
   if (!has_space)
      return VK_ERROR_NOT_ENOUGH_SPACE_KHR;
   write_binary_header(*plan, data);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_pipeline_binary(VkDevice handle, VkPipelineBinaryKHR binary,
                                                   const VkAllocationCallbacks *allocator)
{
   Device *device = find_device(handle);
   device->lowered_binaries.take(binary);
   device->next.DestroyPipelineBinaryKHR(handle, binary, allocator);
}

} // namespace weft::layer
