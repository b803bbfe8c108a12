// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// vkCreateComputePipelines: several pipelines, on several threads, with feedback.

#include "backend/cpu/runtime/executor.h"
#include "icd/device.h"
#include "icd/pipeline.h"
#include "threads/blocked_signals.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_util.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <span>
#include <thread>
#include <vector>

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

/// Whether several threads may create the pipelines of one call. An application's allocator may be
/// called only by the thread that called Vulkan (Vulkan, Host Memory), and a cache that the
/// application synchronizes has no lock.
bool may_use_threads(const Device *device, const vk_pipeline_cache *cache,
                     const VkAllocationCallbacks *allocator)
{
   return !allocator && device->vk.alloc.pfnAllocation == vk_default_allocator()->pfnAllocation &&
          !(cache && cache->flags & VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
}

/// Creates all pipelines of one call, on as many threads as can run at once. False if there is no
/// memory for threads: nothing was created then.
bool create_in_parallel(Device *device, vk_pipeline_cache *cache,
                        std::span<const VkComputePipelineCreateInfo> infos, VkPipeline *pipelines,
                        std::vector<VkResult> *results)
{
   const size_t count = std::min<size_t>(infos.size(), cpu::default_threads());
   std::atomic<size_t> next = 0;
   const auto work = [&] {
      for (size_t i = next++; i < infos.size(); i = next++)
         (*results)[i] = create_with_feedback(device, cache, infos[i], nullptr, &pipelines[i]);
   };
   std::vector<std::jthread> helpers;
   try {
      results->resize(infos.size(), VK_ERROR_OUT_OF_HOST_MEMORY);
      helpers.reserve(count);
   } catch (const std::bad_alloc &) {
      return false;
   }
   {
      const BlockedSignals inherited;
      while (helpers.size() + 1 < count) {
         try {
            helpers.emplace_back(work);
         } catch (const std::exception &) {
            break; // fewer threads suffice
         }
      }
   }
   work();
   return true;
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
   if (createInfoCount > 1 && !early_return && may_use_threads(device, cache, pAllocator)) {
      std::vector<VkResult> results;
      if (create_in_parallel(device, cache, {pCreateInfos, createInfoCount}, pPipelines,
                             &results)) {
         for (VkResult result : results)
            first_failure = worse(first_failure, result);
         return first_failure;
      }
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
