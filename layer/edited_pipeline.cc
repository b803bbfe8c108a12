// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/edited_pipeline.h"

#include "layer/physical_device.h"

namespace weft::layer {

VkPipelineCreateFlags2KHR flags_of(const VkComputePipelineCreateInfo &info)
{
   const auto *flags2 = vk_find_struct_const(info.pNext, PIPELINE_CREATE_FLAGS_2_CREATE_INFO);
   return flags2 ? flags2->flags : info.flags;
}

EditedComputePipeline::EditedComputePipeline(const Device &device,
                                             const VkComputePipelineCreateInfo &original)
    : stage(device, original.stage, original.pNext), device(device), info(original),
      chain(original.pNext)
{
}

void EditedComputePipeline::resolve_base(const VkPipeline *made)
{
   if (!(flags_of(info) & VK_PIPELINE_CREATE_2_DERIVATIVE_BIT_KHR) || info.basePipelineIndex < 0)
      return;
   info.basePipelineHandle = made[info.basePipelineIndex];
   info.basePipelineIndex = -1;
   if (info.basePipelineHandle)
      return;
   // The base has failed. A derivative is only a hint.
   info.flags &= ~VK_PIPELINE_CREATE_DERIVATIVE_BIT;
   if (auto *flags2 = static_cast<VkPipelineCreateFlags2CreateInfoKHR *>(
          chain.find(VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR)))
      flags2->flags &= ~VK_PIPELINE_CREATE_2_DERIVATIVE_BIT_KHR;
}

VkResult EditedComputePipeline::edit(bool may_compile, bool capture)
{
   const auto *binaries = vk_find_struct_const(info.pNext, PIPELINE_BINARY_INFO_KHR);
   if (binaries && binaries->binaryCount) {
      // A compute pipeline has one shader, so all its binaries have the same changes.
      const StagePlan *plan = device.lowered_binaries.find(binaries->pPipelineBinaries[0]);
      plan ? stage.edit_for_binary(*plan) : stage.edit_size();
      return VK_SUCCESS;
   }
   return stage.edit(may_compile, capture);
}

const VkComputePipelineCreateInfo &EditedComputePipeline::finish()
{
   info.pNext = chain.head();
   info.stage = stage.finish();
   return info;
}

bool needs_edit(const Device &device, std::span<const VkPipelineShaderStageCreateInfo> stages)
{
   return std::ranges::any_of(stages, [&](const VkPipelineShaderStageCreateInfo &stage) {
      return (device.size_rules.sized_stages & stage.stage) ||
             (!device.physical->extends_native() && find_source(device, stage).is_ours());
   });
}

} // namespace weft::layer
