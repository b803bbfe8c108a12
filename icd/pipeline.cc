// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/pipeline.h"

#include "backend/cpu/runtime/executor.h"
#include "icd/descriptor_set_layout.h"
#include "icd/device.h"
#include "icd/log.h"
#include "icd/program_object.h"
#include "icd/settings.h"
#include "icd/spirv_dump.h"
#include "threads/blocked_signals.h"
#include "vulkan_util/spec_constants.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_pipeline_layout.h"
#include "vk_shader_module.h"
#include "vk_util.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <new>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

using namespace weft;

namespace {

/// What vkCreateComputePipelines says about one pipeline, in the compiler's terms.
struct Request {
   ShaderSource source;
   cpu::CompileOptions options;
   CacheKey key;
   uint32_t dynamic_base[cpu::max_sets + 1] = {};
};

void read_module(const VkPipelineShaderStageCreateInfo &stage, Request *request)
{
   VK_FROM_HANDLE(vk_shader_module, module, stage.module);
   if (module) {
      request->source.spirv = {reinterpret_cast<const uint32_t *>(module->data), module->size / 4};
   } else {
      // VK_KHR_maintenance5: the module may be given in the chain instead.
      const VkShaderModuleCreateInfo *info =
         vk_find_struct_const(stage.pNext, SHADER_MODULE_CREATE_INFO);
      if (info)
         request->source.spirv = {info->pCode, info->codeSize / 4};
   }
   request->source.entry_point = stage.pName;
}

void read_bindings(const vk_pipeline_layout *layout, Request *request)
{
   for (uint32_t s = 0; s < cpu::max_sets; s++) {
      uint32_t dynamic_base = request->dynamic_base[s];
      request->dynamic_base[s + 1] = dynamic_base;
      auto *set = s < layout->set_count
                     ? reinterpret_cast<const DescriptorSetLayout *>(layout->set_layouts[s])
                     : nullptr;
      if (!set)
         continue;
      request->dynamic_base[s + 1] += set->dynamic_count;
      for (uint32_t i = 0; i < set->binding_count; i++) {
         const DescriptorBinding &b = set->bindings[i];
         constexpr uint32_t stride = sizeof(cpu::BufferDescriptor);
         BindingLayout out = {
            .set = s,
            .binding = b.number,
            .slot = s,
            .offset = b.offset,
            .stride = stride,
            .count = b.count,
            .inline_data = b.type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
            .variable_count = (b.flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT) != 0,
         };
         if (is_dynamic(b.type)) {
            out.slot = cpu::dynamic_slot;
            out.offset = (dynamic_base + b.dynamic_index) * stride;
         } else if (out.inline_data) {
            out.stride = 0;
         } else if (descriptor_bytes(b.type, 1) == 0) {
            continue; // a kind of descriptor that no shader can use here
         }
         request->options.bindings.push_back(out);
      }
   }
}

bool wants_robust_access(const Device *device, const VkComputePipelineCreateInfo &info)
{
   vk_pipeline_robustness_state state;
   vk_pipeline_robustness_state_fill(&device->vk, &state, info.pNext, info.stage.pNext);
   // Reading through a null descriptor gives zeros, whatever the pipeline says of other buffers.
   return state.storage_buffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          state.uniform_buffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          state.null_storage_buffer_descriptor || state.null_uniform_buffer_descriptor;
}

/// A stage that does not require a size leaves it to the driver, if it allows varying sizes or its
/// module is of SPIR-V 1.6 (Vulkan, "SubgroupSize").
uint32_t choose_subgroup_size(const VkPipelineShaderStageCreateInfo &stage,
                              const ShaderSource &source)
{
   const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required =
      vk_find_struct_const(stage.pNext, PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
   if (required)
      return required->requiredSubgroupSize;
   // Any size, but for each shader one: a test is repeatable.
   if (settings().hides_subgroup_sizes)
      return 8u << std::accumulate(source.spirv.begin(), source.spirv.end(), 0u) % 4;
   constexpr uint32_t spirv_1_6 = 0x00010600;
   const bool may_vary =
      (stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT) ||
      (source.spirv.size() > 1 && source.spirv[1] >= spirv_1_6);
   return may_vary && !settings().sets_subgroup_size() && cpu::has_workgroup_matrices(source)
             ? cpu::workgroup_matrices_subgroup_size
             : settings().default_subgroup_size();
}

Request make_request(const Device *device, const VkComputePipelineCreateInfo &info)
{
   VK_FROM_HANDLE(vk_pipeline_layout, layout, info.layout);
   Request request;
   read_module(info.stage, &request);
   request.source.spec_constants = read_spec_constants(info.stage.pSpecializationInfo);
   read_bindings(layout, &request);
   request.options.subgroup_size = choose_subgroup_size(info.stage, request.source);
   request.options.robust_buffer_access = wants_robust_access(device, info);
   request.options.matrices = advertised_matrices();
   request.key = cpu::cache_key(request.source, request.options);
   return request;
}

VkResult compile(Device *device, Request *request, std::vector<Representation> *representations,
                 bool may_compile, vk_pipeline_cache *cache, ProgramObject **object_out)
{
   if (representations) {
      // Names must be unique within an executable, and a pass may run several times.
      request->options.dump = [&, turns = std::map<std::string, uint32_t>()](
                                 const char *phase, const std::string &text) mutable {
         const uint32_t turn = ++turns[phase];
         std::string name = phase;
         if (turn > 1)
            name.append(1, '#').append(std::to_string(turn));
         representations->push_back(
            {std::move(name), "the shader after this phase of the compiler", text});
      };
   }
   auto programs =
      cpu::compile_cached(shader_cache(), request->source, request->options, may_compile);
   if (!programs) {
      // vkCreateComputePipelines may return VK_ERROR_INVALID_SHADER_NV only with VK_NV_glsl_shader;
      // for input that cannot be used and has no code of its own the specification has
      // VK_ERROR_UNKNOWN.
      report_error(&device->vk.base, "vkCreateComputePipelines: " + programs.error().message);
      return VK_ERROR_UNKNOWN;
   }
   if (!*programs)
      return VK_PIPELINE_COMPILE_REQUIRED;
   ProgramObject *object = create_program_object(&device->vk, request->key, std::move(*programs));
   if (!object)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   *object_out = cache_program(cache, object);
   return VK_SUCCESS;
}

void destroy(vk_device *device, vk_pipeline *vk, const VkAllocationCallbacks *allocator)
{
   auto *pipeline = reinterpret_cast<Pipeline *>(vk);
   release_program(device, pipeline->object);
   delete pipeline->representations;
   vk_pipeline_free(device, allocator, vk);
}

const vk_pipeline_ops pipeline_ops = {
   .destroy = destroy,
   .get_executable_properties = get_executable_properties,
   .get_executable_statistics = get_executable_statistics,
   .get_internal_representations = get_internal_representations,
};

/// One pipeline.  The standard library's exceptions (no memory) end here.
VkResult create_pipeline(Device *device, vk_pipeline_cache *cache,
                         const VkComputePipelineCreateInfo &info,
                         const VkAllocationCallbacks *allocator, VkPipeline *pipeline_out,
                         VkPipelineCreationFeedback *feedback)
{
   VkPipelineCreateFlags2KHR flags = vk_compute_pipeline_create_flags(&info);
   bool keep_text = flags & VK_PIPELINE_CREATE_2_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
   bool may_compile = !(flags & VK_PIPELINE_CREATE_2_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT_KHR);

   auto *pipeline = static_cast<Pipeline *>(vk_pipeline_zalloc(&device->vk, &pipeline_ops,
                                                               VK_PIPELINE_BIND_POINT_COMPUTE,
                                                               flags, allocator, sizeof(Pipeline)));
   if (!pipeline)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);

   VkResult result = VK_SUCCESS;
   try {
      Request request = make_request(device, info);
      if (!settings().spirv_folder.empty())
         dump_spirv(settings().spirv_folder, request.source, request.options);
      memcpy(pipeline->dynamic_base, request.dynamic_base, sizeof(pipeline->dynamic_base));

      // The text of the phases is not cached: who asks for it gets a compilation.
      if (keep_text)
         pipeline->representations = new std::vector<Representation>();
      else
         pipeline->object = lookup_program(cache, request.key);

      if (pipeline->object)
         feedback->flags |= VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT;
      else
         result = compile(device, &request, pipeline->representations, may_compile, cache,
                          &pipeline->object);
   } catch (const std::exception &e) {
      result = vk_errorf(device, VK_ERROR_OUT_OF_HOST_MEMORY, "%s", e.what());
   }

   if (result != VK_SUCCESS) {
      delete pipeline->representations;
      vk_pipeline_free(&device->vk, allocator, &pipeline->vk);
      return result;
   }
   *pipeline_out = Pipeline_to_handle(pipeline);
   return VK_SUCCESS;
}

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

/// The result of several pipelines, from that of the pipelines before and that of the next one.
/// VK_PIPELINE_COMPILE_REQUIRED counts less than a failure.
VkResult worse(VkResult before, VkResult next)
{
   return before == VK_SUCCESS || (before == VK_PIPELINE_COMPILE_REQUIRED && next != VK_SUCCESS)
             ? next
             : before;
}

/// Whether the pipelines of one call may be made by several threads: an application's allocator is
/// called by the thread that called Vulkan only (Vulkan, Host Memory), and a cache that the
/// application synchronizes has no lock.
bool may_use_threads(const Device *device, const vk_pipeline_cache *cache,
                     const VkAllocationCallbacks *allocator)
{
   return !allocator && device->vk.alloc.pfnAllocation == vk_default_allocator()->pfnAllocation &&
          !(cache && cache->flags & VK_PIPELINE_CACHE_CREATE_EXTERNALLY_SYNCHRONIZED_BIT);
}

/// Creates all pipelines of one call, on as many threads as can run at once. False if there is no
/// memory for that: then nothing was made.
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
            break; // those that there are will do
         }
      }
   }
   work();
   return true;
}

} // namespace

cpu::Programs &Pipeline::programs() const
{
   return *object->programs;
}

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
