// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/pipeline_request.h"

#include "icd/descriptor_set_layout.h"
#include "icd/device.h"
#include "icd/settings.h"
#include "vulkan_util/spec_constants.h"

#include "vk_pipeline.h"
#include "vk_pipeline_layout.h"
#include "vk_shader_module.h"
#include "vk_util.h"

#include <numeric>

namespace weft {

namespace {

void read_module(const VkPipelineShaderStageCreateInfo &stage, PipelineRequest *request)
{
   VK_FROM_HANDLE(vk_shader_module, module, stage.module);
   if (module) {
      request->source.spirv = {reinterpret_cast<const uint32_t *>(module->data), module->size / 4};
   } else {
      // VK_KHR_maintenance5: the module may be in the chain instead.
      const VkShaderModuleCreateInfo *info =
         vk_find_struct_const(stage.pNext, SHADER_MODULE_CREATE_INFO);
      if (info)
         request->source.spirv = {info->pCode, info->codeSize / 4};
   }
   request->source.entry_point = stage.pName;
}

void read_bindings(const vk_pipeline_layout *layout, PipelineRequest *request)
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
         BindingLayout out = {
            .set = s,
            .binding = b.number,
            .slot = s,
            .offset = b.offset,
            .stride = descriptor_bytes(b.type, 1),
            .count = b.count,
            .inline_data = b.type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
            .variable_count = (b.flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT) != 0,
         };
         if (is_dynamic(b.type)) {
            out.slot = cpu::dynamic_slot;
            out.stride = sizeof(cpu::BufferDescriptor);
            out.offset = (dynamic_base + b.dynamic_index) * out.stride;
         } else if (out.inline_data) {
            out.stride = 0;
         } else if (out.stride == 0) {
            continue; // a kind of descriptor that shaders cannot use
         }
         request->options.bindings.push_back(out);
      }
   }
}

bool wants_robust_access(const Device *device, const VkComputePipelineCreateInfo &info)
{
   vk_pipeline_robustness_state state;
   vk_pipeline_robustness_state_fill(&device->vk, &state, info.pNext, info.stage.pNext);
   // Reads through a null descriptor return zeros, with any robustness of other buffers.
   return state.storage_buffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          state.uniform_buffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          state.null_storage_buffer_descriptor || state.null_uniform_buffer_descriptor;
}

/// The driver chooses the size for a stage that requires none, if the stage allows varying sizes or
/// its module is of SPIR-V 1.6 (Vulkan, "SubgroupSize").
uint32_t choose_subgroup_size(const VkPipelineShaderStageCreateInfo &stage,
                              const ShaderSource &source)
{
   const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required =
      vk_find_struct_const(stage.pNext, PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
   if (required)
      return required->requiredSubgroupSize;
   // Any size, but the same in each run of a shader, so that tests are repeatable.
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

} // namespace

PipelineRequest make_request(const Device *device, const VkComputePipelineCreateInfo &info)
{
   VK_FROM_HANDLE(vk_pipeline_layout, layout, info.layout);
   PipelineRequest request;
   read_module(info.stage, &request);
   request.source.spec_constants = read_spec_constants(info.stage.pSpecializationInfo);
   read_bindings(layout, &request);
   request.options.subgroup_size = choose_subgroup_size(info.stage, request.source);
   request.options.robust_buffer_access = wants_robust_access(device, info);
   request.options.matrices = advertised_matrices();
   request.key = cpu::cache_key(request.source, request.options);
   return request;
}

} // namespace weft
