// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// One stage of a pipeline as the driver gets it.

#pragma once

#include "layer/lowering.h"
#include "layer/struct_chain.h"

#include <vulkan/vulkan_core.h>

namespace weft::layer {

/// An edited copy of a stage: with the driver's module in place of a module with matrices, and with
/// the subgroup size that the layer reports or has lowered for.
class EditedStage {
public:
   /// `pipeline`: the chain of the pipeline's description.
   EditedStage(const Device &, const VkPipelineShaderStageCreateInfo &original,
               const void *pipeline);
   ~EditedStage();
   EditedStage(const EditedStage &) = delete;
   EditedStage &operator=(const EditedStage &) = delete;

   /// VK_PIPELINE_COMPILE_REQUIRED if the shader must not be compiled and is not in the cache, or
   /// if the stage has an identifier only.
   VkResult edit(bool may_compile, bool capture);
   /// Edits the size only; the shader is not lowered, or comes from a binary.
   void edit_size();
   /// Edits the description for the binary of a lowered shader (VK_KHR_pipeline_binary).
   void edit_for_binary(const StagePlan &);

   /// Valid until the next change.
   const VkPipelineShaderStageCreateInfo &finish();

   LoweredShader shader;
   StagePlan plan; ///< the changes that were made

private:
   VkResult use_module(std::span<const uint32_t> words);

   VkPipelineShaderStageCreateInfo info;
   const Device &device;
   const VkPipelineRobustnessCreateInfo *robustness; ///< the stage's, else the pipeline's, or null
   StructChain chain;
   VkShaderModule module = VK_NULL_HANDLE;
};

} // namespace weft::layer
