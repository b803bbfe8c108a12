// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/compute_pipeline.h"

#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/lowering.h"
#include "layer/shader_module.h"
#include "layer/struct_chain.h"

#include "vk_struct_type_cast.h"
#include "vk_util.h"

#include <algorithm>

namespace weft::layer {

namespace {

VkPipelineCreateFlags2KHR flags_of(const VkComputePipelineCreateInfo &info)
{
   const auto *flags2 = vk_find_struct_const(info.pNext, PIPELINE_CREATE_FLAGS_2_CREATE_INFO);
   return flags2 ? flags2->flags : info.flags;
}

/// A pipeline's description, edited for the driver: with a lowered module in place of the
/// application's, and on its own, that is, without an index into the array that it came from.
class EditedInfo {
public:
   EditedInfo(const Device &device, const VkComputePipelineCreateInfo &original)
       : info(original), device(device), chain(original.pNext), stage_chain(original.stage.pNext)
   {
   }
   ~EditedInfo()
   {
      if (module)
         device.next.DestroyShaderModule(device.handle, module, nullptr);
   }
   EditedInfo(const EditedInfo &) = delete;
   EditedInfo &operator=(const EditedInfo &) = delete;

   /// `made` are the pipelines of the same call so far.
   void resolve_base(const VkPipeline *made)
   {
      if (!(flags_of(info) & VK_PIPELINE_CREATE_2_DERIVATIVE_BIT_KHR) || info.basePipelineIndex < 0)
         return;
      info.basePipelineHandle = made[info.basePipelineIndex];
      info.basePipelineIndex = -1;
      if (info.basePipelineHandle)
         return;
      // The base has failed.  Being derived is but a hint.
      info.flags &= ~VK_PIPELINE_CREATE_DERIVATIVE_BIT;
      if (auto *flags2 = static_cast<VkPipelineCreateFlags2CreateInfoKHR *>(
             chain.find(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR)))
         flags2->flags &= ~VK_PIPELINE_CREATE_2_DERIVATIVE_BIT_KHR;
   }

   /// Leaves alone what the driver is to take as it is.
   VkResult lower(std::span<const uint32_t> words, bool capture)
   {
      const auto *required =
         static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(
            find_struct(info.stage.pNext, size_struct));
      const uint32_t size =
         required ? required->requiredSubgroupSize : device.physical->subgroup_size;
      if (is_for_driver(device, words, info.stage.pName, info.stage.pSpecializationInfo, size))
         return VK_SUCCESS;
      VkResult result = lower_shader(device, words, info.stage.pName,
                                     info.stage.pSpecializationInfo, size, capture, shader);
      if (result != VK_SUCCESS)
         return result;
      SubgroupDemand demand;
      result = demand_subgroups(device, shader, size, demand);
      if (result != VK_SUCCESS)
         return result;
      require_size(demand.require_size, size);
      if (demand.require_full)
         info.stage.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;

      const VkShaderModuleCreateInfo module_info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
         .codeSize = shader.words.size() * sizeof(uint32_t),
         .pCode = shader.words.data(),
      };
      result = device.next.CreateShaderModule(device.handle, &module_info, nullptr, &module);
      info.stage.module = module;
      info.stage.pSpecializationInfo = nullptr; // folded in
      stage_chain.remove(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
      return result;
   }

   /// The size that the layer reports, for a shader without matrices that relies on it.
   void require_default_size()
   {
      const bool varying =
         info.stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
      if (!varying)
         require_size(true, device.physical->subgroup_size);
   }

   const VkComputePipelineCreateInfo *finish()
   {
      info.pNext = chain.head();
      info.stage.pNext = stage_chain.head();
      return &info;
   }

   LoweredShader shader;

private:
   static constexpr auto size_struct =
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;

   void require_size(bool require, uint32_t size)
   {
      info.stage.flags &= ~VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
      if (!require || stage_chain.find(size_struct) || stage_chain.find_in_rest(size_struct))
         return;
      static_cast<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(
         stage_chain.append(size_struct))
         ->requiredSubgroupSize = size;
   }

   VkComputePipelineCreateInfo info;
   const Device &device;
   StructChain chain, stage_chain;
   VkShaderModule module = VK_NULL_HANDLE;
};

/// The driver has told of its own part of the work.
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

/// A pipeline that the driver does not get to see has no feedback.
void clear_feedback(const VkComputePipelineCreateInfo &info)
{
   const auto *feedback = vk_find_struct_const(info.pNext, PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
   if (!feedback)
      return;
   *feedback->pPipelineCreationFeedback = {};
   std::fill_n(feedback->pPipelineStageCreationFeedbacks,
               feedback->pipelineStageCreationFeedbackCount, VkPipelineCreationFeedback{});
}

/// Which pipeline of a call, for all that may be needed to make it.
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
   const StageSource source = find_source(device, original.stage);
   clear_feedback(original);
   // Lowering is a compilation, and a module that is known by its identifier cannot be lowered.
   if (source.by_identifier ||
       (source.is_ours() &&
        (flags & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_KHR)))
      return VK_PIPELINE_COMPILE_REQUIRED;

   EditedInfo edited(device, original);
   edited.resolve_base(call.pipelines);
   const bool capture = (flags & VK_PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR) &&
                        device.next.GetPipelineExecutableInternalRepresentationsKHR;
   if (source.is_ours()) {
      const VkResult result = edited.lower(source.words, capture);
      if (result != VK_SUCCESS)
         return result;
   } else if (device.changes_subgroup_size) {
      edited.require_default_size();
   }
   std::unique_ptr<CapturedPipeline> captured;
   if (!edited.shader.representations.empty())
      captured = std::make_unique<CapturedPipeline>(std::move(edited.shader.representations));

   const VkResult result = device.next.CreateComputePipelines(device.handle, call.cache, 1,
                                                              edited.finish(), call.allocator, out);
   if (result == VK_SUCCESS && captured) {
      OnFailure undo([&] {
         device.next.DestroyPipeline(device.handle, *out, call.allocator);
         *out = VK_NULL_HANDLE;
      });
      device.captured.add(*out, std::move(captured));
      undo.succeeded();
   }
   if (source.is_ours())
      add_feedback(original, edited.shader.duration);
   return result;
}

/// Whether a call has a stage that would have to be lowered and cannot.
template <typename Info>
bool has_matrix_stage(const Device &device, const Info *infos, uint32_t count)
{
   if (device.physical->extends_native())
      return false;
   for (const Info &info : std::span(infos, count)) {
      for (const auto &stage : std::span(info.pStages, info.pStages ? info.stageCount : 0)) {
         if (find_source(device, stage).is_ours())
            return true;
      }
   }
   return false;
}

VkResult refuse_pipelines(const Device &device, uint32_t count, VkPipeline *pipelines)
{
   std::fill_n(pipelines, count, VkPipeline(VK_NULL_HANDLE));
   return guarded([&] {
      report_error(device,
                   "a module with cooperative matrices can be used for compute shaders only");
      return VK_ERROR_UNKNOWN;
   });
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_compute_pipelines(VkDevice handle, VkPipelineCache cache,
                                                        uint32_t count,
                                                        const VkComputePipelineCreateInfo *infos,
                                                        const VkAllocationCallbacks *allocator,
                                                        VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   const bool ours = device->lowers && (device->changes_subgroup_size ||
                                        std::any_of(infos, infos + count, [&](const auto &info) {
                                           return find_source(*device, info.stage).is_ours();
                                        }));
   if (!ours)
      return device->next.CreateComputePipelines(handle, cache, count, infos, allocator, pipelines);

   // One by one: each may fail on its own.
   std::fill_n(pipelines, count, VkPipeline(VK_NULL_HANDLE));
   const Call call = {*device, cache, allocator, pipelines};
   VkResult overall = VK_SUCCESS;
   for (uint32_t i = 0; i < count; i++) {
      const VkResult result = guarded([&] { return create_one(call, infos[i], &pipelines[i]); });
      if (result == VK_SUCCESS)
         continue;
      pipelines[i] = VK_NULL_HANDLE;
      if (overall >= 0) // an error tells more than VK_PIPELINE_COMPILE_REQUIRED
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
   device->next.DestroyPipeline(handle, pipeline, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL get_pipeline_key(VkDevice handle,
                                                const VkPipelineCreateInfoKHR *info,
                                                VkPipelineBinaryKeyKHR *key)
{
   Device *device = find_device(handle);
   const auto *compute =
      info ? vk_find_struct_const(info->pNext, COMPUTE_PIPELINE_CREATE_INFO) : nullptr;
   const StageSource source = compute ? find_source(*device, compute->stage) : StageSource();
   if (source.words.empty())
      return device->next.GetPipelineKeyKHR(handle, info, key);
   // The key is that of the pipeline which the driver will be given.
   return guarded([&] {
      EditedInfo edited(*device, *compute);
      const VkResult result = edited.lower(source.words, false);
      if (result != VK_SUCCESS)
         return result;
      VkPipelineCreateInfoKHR edited_info = *info;
      edited_info.pNext = const_cast<VkComputePipelineCreateInfo *>(edited.finish());
      return device->next.GetPipelineKeyKHR(handle, &edited_info, key);
   });
}

VKAPI_ATTR VkResult VKAPI_CALL create_graphics_pipelines(VkDevice handle, VkPipelineCache cache,
                                                         uint32_t count,
                                                         const VkGraphicsPipelineCreateInfo *infos,
                                                         const VkAllocationCallbacks *allocator,
                                                         VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   if (has_matrix_stage(*device, infos, count))
      return refuse_pipelines(*device, count, pipelines);
   return device->next.CreateGraphicsPipelines(handle, cache, count, infos, allocator, pipelines);
}

VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing_pipelines(
   VkDevice handle, VkDeferredOperationKHR operation, VkPipelineCache cache, uint32_t count,
   const VkRayTracingPipelineCreateInfoKHR *infos, const VkAllocationCallbacks *allocator,
   VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   if (has_matrix_stage(*device, infos, count))
      return refuse_pipelines(*device, count, pipelines);
   return device->next.CreateRayTracingPipelinesKHR(handle, operation, cache, count, infos,
                                                    allocator, pipelines);
}

} // namespace weft::layer
