// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shader modules with matrices. A module is lowered when a pipeline is created, because
/// specialization and subgroup size are not known earlier. Until then the layer keeps its words.
/// The driver gets an empty module in its place, or the module itself if the driver has matrices
/// too. So names, tags and private data reach the driver with a handle that it knows.

#pragma once

#include <vulkan/vulkan_core.h>

#include <span>

namespace weft::layer {

struct Device;

/// A module's words if it declares matrices that the layer lowers on this device; else nothing.
std::span<const uint32_t> matrix_words(const Device &, const void *code, size_t bytes);

/// The module of a stage, by handle or inline.
struct StageSource {
   std::span<const uint32_t> words; ///< empty: the driver takes the stage unchanged
   /// The stage has only an identifier, and the identifier is the layer's.
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
