// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// vkCreateComputePipelines: several pipelines, on several threads, with feedback.

#include "icd/creation_threads.h"
#include "icd/device.h"
#include "icd/pipeline.h"
#include "weft_entrypoints.h"

#include "vk_log.h"
#include "vk_util.h"

#include <memory>
#include <new>
#include <numeric>

using namespace weft;

namespace {

VkResult create_with_feedback(Device *device, vk_pipeline_cache *cache,
                              const VkComputePipelineCreateInfo &info,
                              const VkAllocationCallbacks *allocator, VkPipeline *pipeline)
{
   const uint64_t start = device_timestamp();
   VkPipelineCreationFeedback feedback = {
      .flags = VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT,
   };
   const VkResult result = create_pipeline(device, cache, info, allocator, pipeline, &feedback);
   feedback.duration = device_timestamp() - start;

   const VkPipelineCreationFeedbackCreateInfo *feedback_info =
      vk_find_struct_const(info.pNext, PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
   if (feedback_info) {
      *feedback_info->pPipelineCreationFeedback = feedback;
      for (uint32_t s = 0; s < feedback_info->pipelineStageCreationFeedbackCount; s++)
         feedback_info->pPipelineStageCreationFeedbacks[s] = feedback;
   }
   return result;
}

bool returns_early(const VkComputePipelineCreateInfo &info)
{
   return vk_compute_pipeline_create_flags(&info) &
          VK_PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT_KHR;
}

/// The result of several pipelines, from the result so far and the next one.
/// VK_PIPELINE_COMPILE_REQUIRED counts less than a failure.
VkResult worse(VkResult before, VkResult next)
{
   return before == VK_SUCCESS || (before == VK_PIPELINE_COMPILE_REQUIRED && next != VK_SUCCESS)
             ? next
             : before;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateComputePipelines(
   VkDevice _device, VkPipelineCache pipelineCache, uint32_t createInfoCount,
   const VkComputePipelineCreateInfo *pCreateInfos, const VkAllocationCallbacks *pAllocator,
   VkPipeline *pPipelines)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(vk_pipeline_cache, cache, pipelineCache);

   for (uint32_t i = 0; i < createInfoCount; i++)
      pPipelines[i] = VK_NULL_HANDLE;

   VkResult first_failure = VK_SUCCESS;
   bool early_return = false;
   for (uint32_t i = 0; i < createInfoCount; i++)
      early_return |= returns_early(pCreateInfos[i]);
   // A cache that the application synchronizes has no lock.
   const bool locks_cache =
      !cache || !(cache->flags & VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
   if (createInfoCount > 1 && !early_return && locks_cache && may_use_threads(device, pAllocator)) {
      const std::unique_ptr<VkResult[]> results(new (std::nothrow) VkResult[createInfoCount]);
      if (!results)
         return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
      create_on_threads(createInfoCount, [&](size_t i) {
         results[i] = create_with_feedback(device, cache, pCreateInfos[i], nullptr, &pPipelines[i]);
      });
      return std::accumulate(results.get(), results.get() + createInfoCount, VK_SUCCESS, worse);
   }
   for (uint32_t i = 0; i < createInfoCount; i++) {
      const VkResult result =
         create_with_feedback(device, cache, pCreateInfos[i], pAllocator, &pPipelines[i]);
      first_failure = worse(first_failure, result);
      if (result != VK_SUCCESS && returns_early(pCreateInfos[i]))
         break;
   }
   return first_failure;
}
