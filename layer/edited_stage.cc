// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/edited_stage.h"

#include "layer/instance.h"
#include "layer/shader_module.h"

namespace weft::layer {

namespace {

constexpr auto size_struct =
   VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;

const VkPipelineRobustnessCreateInfo *find_robustness(const void *chain)
{
   return static_cast<const VkPipelineRobustnessCreateInfo *>(
      find_struct(chain, VK_STRUCTURE_TYPE_PIPELINE_ROBUSTNESS_CREATE_INFO));
}

} // namespace

EditedStage::EditedStage(const Device &device, const VkPipelineShaderStageCreateInfo &original,
                         const void *pipeline)
    : info(original), device(device), robustness(find_robustness(original.pNext)),
      chain(original.pNext)
{
   if (!robustness)
      robustness = find_robustness(pipeline);
}

EditedStage::~EditedStage()
{
   if (module)
      device.next.DestroyShaderModule(device.handle, module, nullptr);
}

VkResult EditedStage::edit(bool may_compile, bool capture)
{
   const StageSource source = find_source(device, info);
   if (source.by_identifier)
      return VK_PIPELINE_COMPILE_REQUIRED;
   if (source.words.empty()) {
      edit_size();
      return VK_SUCCESS;
   }
   const auto *required = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(
      find_struct(info.pNext, size_struct));
   const uint32_t size = required ? required->requiredSubgroupSize : device.physical->subgroup_size;
   const ShaderRequest request = {
      .words = source.words,
      .stage = info.stage,
      .entry_point = info.pName,
      .specialization = info.pSpecializationInfo,
      .subgroup_size = size,
      .robustness = robustness,
      .may_compile = may_compile,
      .capture = capture,
   };
   const VkResult result = lower_shader(device, request, shader);
   if (result != VK_SUCCESS)
      return result;
   if (shader.form != Form::lowered)
      edit_size();
   if (shader.form == Form::original)
      return VK_SUCCESS;
   if (shader.form == Form::lowered) {
      require_size(shader.require_size, size);
      if (shader.require_full_subgroups)
         info.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
      info.pSpecializationInfo = nullptr; // folded in
   }
   return use_module(shader.words);
}

void EditedStage::edit_size()
{
   const bool varying =
      info.flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
   if ((device.sized_stages & info.stage) && (device.fixed_sizes || !varying))
      require_size(true, device.physical->subgroup_size);
}

const VkPipelineShaderStageCreateInfo &EditedStage::finish()
{
   info.pNext = chain.head();
   return info;
}

VkResult EditedStage::use_module(std::span<const uint32_t> words)
{
   const VkShaderModuleCreateInfo module_info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = words.size_bytes(),
      .pCode = words.data(),
   };
   const VkResult result =
      device.next.CreateShaderModule(device.handle, &module_info, nullptr, &module);
   info.module = module;
   chain.remove(VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
   return result;
}

void EditedStage::require_size(bool require, uint32_t size)
{
   info.flags &= ~VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
   if (!require || chain.find(size_struct) || chain.find_in_rest(size_struct))
      return;
   static_cast<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(chain.append(size_struct))
      ->requiredSubgroupSize = size;
}

} // namespace weft::layer
