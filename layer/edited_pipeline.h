// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The description of a pipeline as the driver gets it.

#pragma once

#include "layer/edited_stage.h"
#include "layer/shader_module.h"

#include "vk_struct_type_cast.h"
#include "vk_util.h"

#include <algorithm>
#include <deque>
#include <span>
#include <vector>

namespace weft::layer {

/// The flags of VkPipelineCreateFlags2CreateInfo, which replace info.flags where it is present.
VkPipelineCreateFlags2KHR flags_of(const VkComputePipelineCreateInfo &);

/// A description without an index into the array of its call.
class EditedComputePipeline {
public:
   EditedComputePipeline(const Device &, const VkComputePipelineCreateInfo &original);

   /// `made`: the pipelines of the same call so far.
   void resolve_base(const VkPipeline *made);
   /// A pipeline of binaries keeps its shader, which the driver ignores.
   VkResult edit(bool may_compile, bool capture);
   /// Valid until the next change.
   const VkComputePipelineCreateInfo &finish();

   EditedStage stage;

private:
   const Device &device;
   VkComputePipelineCreateInfo info;
   StructChain chain;
};

/// The stages of VkGraphicsPipelineCreateInfo and similar structs.
template <typename Info>
std::span<const VkPipelineShaderStageCreateInfo> stages_of(const Info &info)
{
   return {info.pStages, info.pStages ? info.stageCount : 0};
}

/// In a library without shaders, pStages may be invalid.
inline std::span<const VkPipelineShaderStageCreateInfo>
stages_of(const VkGraphicsPipelineCreateInfo &info)
{
   const auto *library =
      vk_find_struct_const(info.pNext, GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
   if (library &&
       !(library->flags & (VK_GRAPHICS_PIPELINE_LIBRARY_PRE_RASTERIZATION_SHADERS_BIT_EXT |
                           VK_GRAPHICS_PIPELINE_LIBRARY_FRAGMENT_SHADER_BIT_EXT)))
      return {};
   return {info.pStages, info.pStages ? info.stageCount : 0};
}

template <typename Info>
class EditedPipeline {
public:
   EditedPipeline(const Device &device, const Info &original) : device(device), info(original)
   {
      for (const VkPipelineShaderStageCreateInfo &stage : stages_of(original))
         stages.emplace_back(device, stage, original.pNext);
   }

   VkResult edit()
   {
      for (EditedStage &stage : stages) {
         const VkResult result = stage.edit(true, false);
         if (result != VK_SUCCESS)
            return result;
         if (stage.shader.form == Form::lowered) {
            report_error(device, "cooperative matrices can be used in compute pipelines only");
            return VK_ERROR_UNKNOWN;
         }
      }
      return VK_SUCCESS;
   }

   /// Valid until the next change.
   const Info &finish()
   {
      finished.clear();
      for (EditedStage &stage : stages)
         finished.push_back(stage.finish());
      if (!finished.empty())
         info.pStages = finished.data();
      return info;
   }

private:
   const Device &device;
   Info info;
   std::deque<EditedStage> stages;
   std::vector<VkPipelineShaderStageCreateInfo> finished;
};

/// Whether the driver must not get one of the stages unchanged.
bool needs_edit(const Device &, std::span<const VkPipelineShaderStageCreateInfo>);

} // namespace weft::layer
