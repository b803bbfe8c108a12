// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shader modules with matrices.  They are lowered when a pipeline is created, as specialization
/// and subgroup size are known only then.  Until then the words are kept here, and a module of the
/// driver's with an empty shader stands for them (with their own, where the driver has matrices
/// too): names, tags, private data and the like reach the driver with a handle that it knows.

#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

namespace weft::layer {

struct Device;

/// A module's words if it declares matrices that the layer sees to on this device, else nothing.
std::span<const uint32_t> matrix_words(const Device &, const void *code, size_t bytes);

/// Of a stage's module, by handle or inline.
struct StageSource {
   std::span<const uint32_t> words; ///< empty: not the layer's business
   /// The stage names a module of the layer's by identifier only.
   bool by_identifier = false;

   bool is_ours() const { return by_identifier || !words.empty(); }
};
StageSource find_source(const Device &, const VkPipelineShaderStageCreateInfo &);

VKAPI_ATTR VkResult VKAPI_CALL create_shader_module(VkDevice, const VkShaderModuleCreateInfo *,
                                                    const VkAllocationCallbacks *,
                                                    VkShaderModule *);
VKAPI_ATTR void VKAPI_CALL destroy_shader_module(VkDevice, VkShaderModule,
                                                 const VkAllocationCallbacks *);
VKAPI_ATTR void VKAPI_CALL get_shader_module_identifier(VkDevice, VkShaderModule,
                                                        VkShaderModuleIdentifierEXT *);
VKAPI_ATTR void VKAPI_CALL get_shader_module_create_info_identifier(
   VkDevice, const VkShaderModuleCreateInfo *, VkShaderModuleIdentifierEXT *);

} // namespace weft::layer
