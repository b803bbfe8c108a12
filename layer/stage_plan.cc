// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/stage_plan.h"

#include "layer/struct_chain.h"

namespace weft::layer {

namespace {

constexpr auto size_struct =
   VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;

uint32_t required_size(const void *chain)
{
   const auto *required = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(
      find_struct(chain, size_struct));
   return required ? required->requiredSubgroupSize : 0;
}

} // namespace

StageSizes sizes_of(const VkPipelineShaderStageCreateInfo &info)
{
   return {info.stage,
           bool(info.flags & VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT),
           required_size(info.pNext)};
}

StageSizes sizes_of(const VkShaderCreateInfoEXT &info)
{
   return {info.stage, bool(info.flags & VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT),
           required_size(info.pNext)};
}

uint32_t subgroup_size_of(const SizeRules &rules, const StageSizes &sizes)
{
   return sizes.required_size ? sizes.required_size : rules.default_size;
}

StagePlan plan_stage(const SizeRules &rules, const StageSizes &sizes, const LoweredShader &shader)
{
   StagePlan plan;
   plan.replaces_module = shader.form != Form::original;
   const bool lowered = shader.form == Form::lowered;
   plan.drops_specialization = lowered;
   plan.requires_full_subgroups = lowered && shader.require_full_subgroups;
   const bool sized =
      (rules.sized_stages & sizes.stage) && (rules.fixes_varying_sizes || !sizes.may_vary);
   plan.clears_varying = lowered || sized;
   if ((lowered ? shader.require_size : sized) && !sizes.required_size)
      plan.add_required_size = rules.default_size;
   return plan;
}

void apply(const StagePlan &plan, VkPipelineShaderStageCreateInfo &info, StructChain &chain)
{
   if (plan.clears_varying)
      info.flags &= ~VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;
   if (plan.requires_full_subgroups)
      info.flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
   if (plan.drops_specialization)
      info.pSpecializationInfo = nullptr;
   if (plan.add_required_size)
      static_cast<VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(chain.append(size_struct))
         ->requiredSubgroupSize = plan.add_required_size;
}

void apply(const StagePlan &plan, const LoweredShader &shader, VkShaderCreateInfoEXT &info,
           VkPipelineShaderStageRequiredSubgroupSizeCreateInfo &size)
{
   if (plan.clears_varying)
      info.flags &= ~VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
   if (plan.requires_full_subgroups)
      info.flags |= VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
   if (plan.drops_specialization)
      info.pSpecializationInfo = nullptr;
   if (plan.add_required_size) {
      size = {size_struct, const_cast<void *>(info.pNext), plan.add_required_size};
      info.pNext = &size;
   }
   if (plan.replaces_module) {
      info.codeSize = shader.words.size() * sizeof(uint32_t);
      info.pCode = shader.words.data();
   }
}

} // namespace weft::layer
