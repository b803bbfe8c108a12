// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One stage of a pipeline as the driver gets it.

#pragma once

#include "layer/lowering.h"
#include "layer/struct_chain.h"

#include <vulkan/vulkan_core.h>

namespace weft::layer {

/// A copy of a stage, edited: with the driver's module in place of one with matrices, and the
/// subgroup size that the layer reports or has lowered for.
class EditedStage {
public:
   /// `pipeline` is the chain of the pipeline's own description.
   EditedStage(const Device &, const VkPipelineShaderStageCreateInfo &original,
               const void *pipeline);
   ~EditedStage();
   EditedStage(const EditedStage &) = delete;
   EditedStage &operator=(const EditedStage &) = delete;

   /// VK_PIPELINE_COMPILE_REQUIRED if it may not compile and would have to, or if the stage is
   /// known by an identifier only.
   VkResult edit(bool may_compile, bool capture);
   /// Without the shader, which comes from elsewhere (VK_KHR_pipeline_binary).
   void edit_size();

   /// To be used until the next change.
   const VkPipelineShaderStageCreateInfo &finish();

   LoweredShader shader;

private:
   VkResult use_module(std::span<const uint32_t> words);

   VkPipelineShaderStageCreateInfo info;
   const Device &device;
   const VkPipelineRobustnessCreateInfo *robustness; ///< the stage's, else the pipeline's, or null
   StructChain chain;
   VkShaderModule module = VK_NULL_HANDLE;
};

} // namespace weft::layer
