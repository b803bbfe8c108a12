// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/compute_pipeline.h"

#include "layer/edited_pipeline.h"
#include "layer/guard.h"
#include "layer/instance.h"

namespace weft::layer {

namespace {

/// The driver has reported its own part of the time.
void add_feedback(const VkComputePipelineCreateInfo &info, std::chrono::nanoseconds duration)
{
   const auto *feedback = vk_find_struct_const(info.pNext, PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
   if (!feedback)
      return;
   const auto add = [&](VkPipelineCreationFeedback *f) {
      if (f && (f->flags & VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT))
         f->duration += uint64_t(duration.count());
   };
   add(feedback->pPipelineCreationFeedback);
   for (uint32_t i = 0; i < feedback->pipelineStageCreationFeedbackCount; i++)
      add(&feedback->pPipelineStageCreationFeedbacks[i]);
}

/// A pipeline that never reaches the driver has no feedback.
void clear_feedback(const VkComputePipelineCreateInfo &info)
{
   const auto *feedback = vk_find_struct_const(info.pNext, PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
   if (!feedback)
      return;
   *feedback->pPipelineCreationFeedback = {};
   std::fill_n(feedback->pPipelineStageCreationFeedbacks,
               feedback->pipelineStageCreationFeedbackCount, VkPipelineCreationFeedback{});
}

/// The parameters of vkCreateComputePipelines that concern each of its pipelines.
struct Call {
   Device &device;
   VkPipelineCache cache;
   const VkAllocationCallbacks *allocator;
   VkPipeline *pipelines;
};

VkResult create_one(const Call &call, const VkComputePipelineCreateInfo &original, VkPipeline *out)
{
   Device &device = call.device;
   const VkPipelineCreateFlags2KHR flags = flags_of(original);
   clear_feedback(original);
   EditedComputePipeline edited(device, original);
   edited.resolve_base(call.pipelines);
   const bool may_compile =
      !(flags & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_KHR);
   const bool capture = (flags & VK_PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR) &&
                        device.next.GetPipelineExecutableInternalRepresentationsKHR;
   const VkResult edit_result = edited.edit(may_compile, capture);
   if (edit_result != VK_SUCCESS)
      return edit_result;
   LoweredShader &shader = edited.stage.shader;
   std::unique_ptr<CapturedPipeline> captured;
   if (!shader.representations.empty())
      captured = std::make_unique<CapturedPipeline>(std::move(shader.representations));
   std::unique_ptr<StagePlan> plan;
   if (shader.form == Form::lowered && flags & VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR)
      plan = std::make_unique<StagePlan>(edited.stage.plan);

   const VkResult result = device.next.CreateComputePipelines(
      device.handle, call.cache, 1, &edited.finish(), call.allocator, out);
   if (result < 0)
      report_drivers_failure(device, original.stage.pName, shader, result);
   if (result == VK_SUCCESS && (captured || plan)) {
      OnFailure undo([&] {
         destroy_pipeline(device.handle, *out, call.allocator);
         *out = VK_NULL_HANDLE;
      });
      if (captured)
         device.captured.add(*out, std::move(captured));
      if (plan)
         device.lowered_pipelines.add(*out, std::move(plan));
      undo.succeeded();
   }
   if (shader.form == Form::lowered)
      add_feedback(original, shader.duration);
   return result;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_compute_pipelines(VkDevice handle, VkPipelineCache cache,
                                                        uint32_t count,
                                                        const VkComputePipelineCreateInfo *infos,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   const bool ours = std::any_of(infos, infos + count, [&](const auto &info) {
      return needs_edit(*device, {&info.stage, 1}) || find_source(*device, info.stage).is_ours();
   });
   if (!ours)
      return device->next.CreateComputePipelines(handle, cache, count, infos, allocator, pipelines);

   // One by one, because each may fail alone.
   std::fill_n(pipelines, count, VkPipeline(VK_NULL_HANDLE));
   const Call call = {*device, cache, allocator, pipelines};
   VkResult overall = VK_SUCCESS;
   for (uint32_t i = 0; i < count; i++) {
      const VkResult result = guarded([&] { return create_one(call, infos[i], &pipelines[i]); });
      if (result == VK_SUCCESS)
         continue;
      pipelines[i] = VK_NULL_HANDLE;
      if (overall >= 0) // an error takes precedence over VK_PIPELINE_COMPILE_REQUIRED
         overall = result;
      if (flags_of(infos[i]) & VK_PIPELINE_CREATE_2_EARLY_RETURN_ON_FAILURE_BIT_KHR)
         break;
   }
   return overall;
}

VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice handle, VkPipeline pipeline,
                                            const VkAllocationCallbacks *allocator)
{
   Device *device = find_device(handle);
   device->captured.take(pipeline);
   device->lowered_pipelines.take(pipeline);
   device->next.DestroyPipeline(handle, pipeline, allocator);
}

VKAPI_ATTR void VKAPI_CALL get_pipeline_indirect_memory_requirements(
   VkDevice handle, const VkComputePipelineCreateInfo *info, VkMemoryRequirements2 *requirements)
{
   Device *device = find_device(handle);
   const auto next = device->next.GetPipelineIndirectMemoryRequirementsNV;
   const VkResult result = guarded([&] {
      EditedComputePipeline edited(*device, *info);
      const VkResult edit_result = edited.edit(true, false);
      if (edit_result == VK_SUCCESS)
         next(handle, &edited.finish(), requirements);
      return edit_result;
   });
   // The pipeline cannot be created either.
   if (result != VK_SUCCESS)
      next(handle, info, requirements);
}

} // namespace weft::layer
