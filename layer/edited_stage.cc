// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/edited_stage.h"

#include "layer/instance.h"
#include "layer/shader_module.h"

namespace weft::layer {

namespace {

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
   const ShaderRequest request = {
      .words = source.words,
      .stage = info.stage,
      .entry_point = info.pName,
      .specialization = info.pSpecializationInfo,
      .subgroup_size = subgroup_size_of(device.size_rules, sizes_of(info)),
      .robustness = robustness,
      .may_compile = may_compile,
      .capture = capture,
   };
   const VkResult result = lower_shader(device, request, shader);
   if (result != VK_SUCCESS)
      return result;
   edit_size();
   return shader.form == Form::original ? VK_SUCCESS : use_module(shader.words);
}

void EditedStage::edit_size()
{
   plan = plan_stage(device.size_rules, sizes_of(info), shader);
   apply(plan, info, chain);
}

void EditedStage::edit_for_binary(const StagePlan &of_binary)
{
   plan = of_binary;
   apply(plan, info, chain);
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

} // namespace weft::layer
