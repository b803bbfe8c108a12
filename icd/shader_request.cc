// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/shader_request.h"

#include "icd/descriptor_set_layout.h"
#include "icd/device.h"
#include "icd/settings.h"
#include "vulkan_util/spec_constants.h"

#include "vk_pipeline.h"
#include "vk_pipeline_layout.h"
#include "vk_shader_module.h"
#include "vk_util.h"

#include <numeric>
#include <span>

namespace weft {

namespace {

using SetLayouts = std::span<vk_descriptor_set_layout *const>;

void read_module(const VkPipelineShaderStageCreateInfo &stage, ShaderRequest *request)
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

/// Null if the pipeline or shader has no such set.
const DescriptorSetLayout *layout_of(SetLayouts layouts, uint32_t set)
{
   return set < layouts.size() ? reinterpret_cast<const DescriptorSetLayout *>(layouts[set])
                               : nullptr;
}

void number_dynamic_buffers(SetLayouts layouts, uint32_t *dynamic_base)
{
   dynamic_base[0] = 0;
   for (uint32_t s = 0; s < cpu::max_sets; s++) {
      const DescriptorSetLayout *set = layout_of(layouts, s);
      dynamic_base[s + 1] = dynamic_base[s] + (set ? set->dynamic_count : 0);
   }
}

bool may_be_image(VkDescriptorType type)
{
   return type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE || type == VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE ||
          type == VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER ||
          type == VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT || type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT;
}

void read_bindings(SetLayouts layouts, ShaderRequest *request)
{
   number_dynamic_buffers(layouts, request->dynamic_base);
   for (uint32_t s = 0; s < cpu::max_sets; s++) {
      const uint32_t dynamic_base = request->dynamic_base[s];
      const DescriptorSetLayout *set = layout_of(layouts, s);
      if (!set)
         continue;
      for (uint32_t i = 0; i < set->binding_count; i++) {
         const DescriptorBinding &b = set->bindings[i];
         BindingLayout out = {
            .set = s,
            .binding = b.number,
            .slot = s,
            .offset = b.offset,
            .stride = b.stride,
            .count = b.count,
            .inline_data = b.type == VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
            .variable_count = (b.flags & VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT) != 0,
            .is_mutable = b.type == VK_DESCRIPTOR_TYPE_MUTABLE_EXT,
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
         request->options.may_have_tiled_images |= may_be_image(b.type);
      }
   }
}

/// Chains of structs that may choose the robustness; null: the device's.
bool wants_robust_access(const Device *device, const void *pipeline_next, const void *stage_next)
{
   vk_pipeline_robustness_state state;
   vk_pipeline_robustness_state_fill(&device->vk, &state, pipeline_next, stage_next);
   // Reads through a null descriptor return zeros, with any robustness of other buffers.
   return state.storage_buffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          state.uniform_buffers != VK_PIPELINE_ROBUSTNESS_BUFFER_BEHAVIOR_DISABLED_EXT ||
          state.null_storage_buffer_descriptor || state.null_uniform_buffer_descriptor;
}

/// The driver chooses the size for a stage that requires none, if the stage allows varying sizes or
/// its module is of SPIR-V 1.6 (Vulkan, "SubgroupSize").
uint32_t choose_subgroup_size(const void *next, bool allows_varying, const ShaderSource &source)
{
   const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *required =
      vk_find_struct_const(next, PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO);
   if (required)
      return required->requiredSubgroupSize;
   // Any size, but the same in each run of a shader, so that tests are repeatable.
   if (settings().hides_subgroup_sizes)
      return 8u << std::accumulate(source.spirv.begin(), source.spirv.end(), 0u) % 4;
   constexpr uint32_t spirv_1_6 = 0x00010600;
   const bool may_vary =
      allows_varying || (source.spirv.size() > 1 && source.spirv[1] >= spirv_1_6);
   return may_vary && !settings().sets_subgroup_size() && cpu::has_workgroup_matrices(source)
             ? cpu::workgroup_matrices_subgroup_size
             : settings().default_subgroup_size();
}

/// A shader that cannot see subgroups may have any size that neither a setting nor the application
/// decides.
bool may_widen_subgroups(const void *next)
{
   return !vk_find_struct_const(next, PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO) &&
          !settings().sets_subgroup_size() && !settings().hides_subgroup_sizes;
}

void finish(const Device *device, ShaderRequest *request)
{
   // Other shaders have the same key with and without the features.
   const vk_features &features = device->vk.enabled_features;
   if (!features.sparseResidencyImage2D && !features.sparseResidencyImage3D)
      request->options.may_have_tiled_images = false;
   request->options.matrices = advertised_matrices();
   request->key = cpu::cache_key(request->source, request->options);
}

std::vector<vk_descriptor_set_layout *> set_layouts(const VkShaderCreateInfoEXT &info)
{
   std::vector<vk_descriptor_set_layout *> layouts;
   for (uint32_t s = 0; s < info.setLayoutCount; s++)
      layouts.push_back(vk_descriptor_set_layout_from_handle(info.pSetLayouts[s]));
   return layouts;
}

} // namespace

ShaderRequest make_request(const Device *device, const VkComputePipelineCreateInfo &info)
{
   VK_FROM_HANDLE(vk_pipeline_layout, layout, info.layout);
   ShaderRequest request;
   read_module(info.stage, &request);
   request.source.spec_constants = read_spec_constants(info.stage.pSpecializationInfo);
   read_bindings({layout->set_layouts, layout->set_count}, &request);
   request.options.subgroup_size = choose_subgroup_size(
      info.stage.pNext,
      info.stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT,
      request.source);
   request.options.may_widen_subgroups = may_widen_subgroups(info.stage.pNext);
   request.options.robust_buffer_access = wants_robust_access(device, info.pNext, info.stage.pNext);
   finish(device, &request);
   return request;
}

ShaderRequest make_request(const Device *device, const VkShaderCreateInfoEXT &info)
{
   ShaderRequest request;
   request.source.spirv = {static_cast<const uint32_t *>(info.pCode), info.codeSize / 4};
   request.source.entry_point = info.pName;
   request.source.spec_constants = read_spec_constants(info.pSpecializationInfo);
   read_bindings(set_layouts(info), &request);
   request.options.subgroup_size = choose_subgroup_size(
      info.pNext, info.flags & VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT,
      request.source);
   request.options.may_widen_subgroups = may_widen_subgroups(info.pNext);
   request.options.robust_buffer_access = wants_robust_access(device, nullptr, nullptr);
   finish(device, &request);
   return request;
}

void number_dynamic_buffers(const VkComputePipelineCreateInfo &info, uint32_t *dynamic_base)
{
   VK_FROM_HANDLE(vk_pipeline_layout, layout, info.layout);
   number_dynamic_buffers({layout->set_layouts, layout->set_count}, dynamic_base);
}

void number_dynamic_buffers(const VkShaderCreateInfoEXT &info, uint32_t *dynamic_base)
{
   number_dynamic_buffers(set_layouts(info), dynamic_base);
}

} // namespace weft
