// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fake_commands.h"

#include "tests/layer/allocation.h"
#include "tests/layer/fake_features.h"

#include <algorithm>
#include <vulkan/vulkan_beta.h>

#include <gtest/gtest.h>

#include <cstring>
#include <span>

namespace weft::layer_test {
namespace {

VkResult VKAPI_CALL create_device(VkPhysicalDevice, const VkDeviceCreateInfo *info,
                                  const VkAllocationCallbacks *, VkDevice *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateDevice"))
      return r;
   driver->enabled_extensions.assign(info->ppEnabledExtensionNames,
                                     info->ppEnabledExtensionNames + info->enabledExtensionCount);
   driver->device_chain.clear();
   driver->enabled = {};
   driver->enabled11 = {};
   driver->enabled12 = {};
   driver->enabled13 = {};
   const FeatureStructs structs = {driver->enabled, driver->enabled11, driver->enabled12,
                                   driver->enabled13, false};
   for (auto *s = static_cast<const VkBaseInStructure *>(info->pNext); s; s = s->pNext) {
      driver->device_chain.push_back(s->sType);
      structs.visit(reinterpret_cast<VkBaseOutStructure *>(const_cast<VkBaseInStructure *>(s)));
   }
   driver->used_enabled_features = info->pEnabledFeatures;
   if (info->pEnabledFeatures)
      driver->enabled = *info->pEnabledFeatures;
   static size_t next_table = 0;
   *out = VkDevice(new Dispatchable{&device_tables[next_table++ % 4]});
   driver->add("device");
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   driver->remove(0, "device");
   delete reinterpret_cast<Dispatchable *>(device);
}

VkResult VKAPI_CALL create_shader_module(VkDevice, const VkShaderModuleCreateInfo *info,
                                         const VkAllocationCallbacks *, VkShaderModule *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkCreateShaderModule"))
      return r;
   std::lock_guard lock(driver->mutex);
   driver->modules.emplace_back(info->pCode, info->pCode + info->codeSize / 4);
   *out = handle_of<VkShaderModule>(driver->add_module(driver->modules.back()));
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_shader_module(VkDevice, VkShaderModule module,
                                      const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (module)
      driver->remove(number(module), "module");
}

void see_required_size(SeenShader &seen, const void *chain)
{
   if (auto *size = find<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo>(
          chain, VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO))
      seen.required_size = size->requiredSubgroupSize;
}

SeenShader see(const VkPipelineShaderStageCreateInfo &stage)
{
   const auto *inline_module = find<const VkShaderModuleCreateInfo>(
      stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO);
   SeenShader seen = {
      .words = stage.module ? driver->words_of(stage.module) : std::vector<uint32_t>(),
      .entry_point = stage.pName,
      .stage_flags = stage.flags,
      .specialized = stage.pSpecializationInfo != nullptr,
      .inline_module = inline_module != nullptr,
   };
   see_required_size(seen, stage.pNext);
   return seen;
}

SeenShader see(const VkComputePipelineCreateInfo &info, VkPipelineCache cache)
{
   SeenShader seen = see(info.stage);
   seen.flags = info.flags;
   seen.cache = cache;
   seen.base = info.basePipelineHandle;
   seen.base_index = info.basePipelineIndex;
   return seen;
}

/// Pipelines with several stages.
template <typename Info>
VkResult create_stages(const char *command, uint32_t count, const Info *infos, VkPipeline *out)
{
   const VkResult result = driver->enter(command);
   std::lock_guard lock(driver->mutex);
   for (uint32_t i = 0; i < count; i++) {
      for (uint32_t k = 0; k < infos[i].stageCount; k++)
         driver->shaders.push_back(see(infos[i].pStages[k]));
      out[i] = handle_of<VkPipeline>(driver->add("pipeline"));
   }
   return result;
}

VkResult VKAPI_CALL create_compute_pipelines(VkDevice, VkPipelineCache cache, uint32_t count,
                                             const VkComputePipelineCreateInfo *infos,
                                             const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   const VkResult result = driver->enter("vkCreateComputePipelines");
   std::lock_guard lock(driver->mutex);
   for (uint32_t i = 0; i < count; i++) {
      out[i] = VK_NULL_HANDLE;
      if (result != VK_SUCCESS)
         continue;
      driver->shaders.push_back(see(infos[i], cache));
      out[i] = handle_of<VkPipeline>(driver->add("pipeline"));
      auto *feedback = find<const VkPipelineCreationFeedbackCreateInfo>(
         infos[i].pNext, VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
      if (feedback && driver->feedback)
         *feedback->pPipelineCreationFeedback = {VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT, 1};
   }
   return result;
}

VkResult VKAPI_CALL create_graphics_pipelines(VkDevice, VkPipelineCache, uint32_t count,
                                              const VkGraphicsPipelineCreateInfo *infos,
                                              const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   return create_stages("vkCreateGraphicsPipelines", count, infos, out);
}

VkResult VKAPI_CALL create_ray_tracing_pipelines(VkDevice, VkDeferredOperationKHR operation,
                                                 VkPipelineCache, uint32_t count,
                                                 const VkRayTracingPipelineCreateInfoKHR *infos,
                                                 const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   driver->deferred_operation = operation;
   const VkResult result = create_stages("vkCreateRayTracingPipelinesKHR", count, infos, out);
   return operation ? VK_OPERATION_DEFERRED_KHR : result;
}

VkResult VKAPI_CALL create_ray_tracing_pipelines_nv(VkDevice, VkPipelineCache, uint32_t count,
                                                    const VkRayTracingPipelineCreateInfoNV *infos,
                                                    const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   return create_stages("vkCreateRayTracingPipelinesNV", count, infos, out);
}

VkResult VKAPI_CALL create_execution_graphs(VkDevice, VkPipelineCache, uint32_t count,
                                            const VkExecutionGraphPipelineCreateInfoAMDX *infos,
                                            const VkAllocationCallbacks *, VkPipeline *out)
{
   WithoutInjection w;
   return create_stages("vkCreateExecutionGraphPipelinesAMDX", count, infos, out);
}

void VKAPI_CALL get_indirect_requirements(VkDevice, const VkComputePipelineCreateInfo *info,
                                          VkMemoryRequirements2 *out)
{
   WithoutInjection w;
   driver->shaders.push_back(see(*info, VK_NULL_HANDLE));
   out->memoryRequirements.size = driver->shaders.back().words.size();
}

void VKAPI_CALL destroy_pipeline(VkDevice, VkPipeline pipeline, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (pipeline)
      driver->remove(number(pipeline), "pipeline");
}

VkResult VKAPI_CALL get_representations(VkDevice, const VkPipelineExecutableInfoKHR *,
                                        uint32_t *count,
                                        VkPipelineExecutableInternalRepresentationKHR *out)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkGetPipelineExecutableInternalRepresentationsKHR"))
      return r;
   if (!out) {
      *count = driver->representations;
      return VK_SUCCESS;
   }
   const VkResult result = *count < driver->representations ? VK_INCOMPLETE : VK_SUCCESS;
   *count = std::min(*count, driver->representations);
   for (uint32_t i = 0; i < *count; i++) {
      strcpy(out[i].name, "driver");
      out[i].dataSize = 3;
   }
   return result;
}

void see_described(const VkPipelineCreateInfoKHR *info)
{
   const void *chain = info ? info->pNext : nullptr;
   if (auto *compute = find<const VkComputePipelineCreateInfo>(
          chain, VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO))
      driver->shaders.push_back(see(*compute, VK_NULL_HANDLE));
   if (auto *graphics = find<const VkGraphicsPipelineCreateInfo>(
          chain, VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO))
      driver->shaders.push_back(see(*graphics->pStages));
}

VkResult VKAPI_CALL get_pipeline_key(VkDevice, const VkPipelineCreateInfoKHR *info,
                                     VkPipelineBinaryKeyKHR *key)
{
   WithoutInjection w;
   if (VkResult r = driver->enter("vkGetPipelineKeyKHR"))
      return r;
   see_described(info);
   key->keySize = 1;
   key->key[0] = uint8_t(info ? driver->shaders.back().words.size() : 0);
   return VK_SUCCESS;
}

/// A pipeline has one binary, its code.
VkResult VKAPI_CALL create_binaries(VkDevice, const VkPipelineBinaryCreateInfoKHR *info,
                                    const VkAllocationCallbacks *,
                                    VkPipelineBinaryHandlesInfoKHR *out)
{
   WithoutInjection w;
   see_described(info->pPipelineCreateInfo);
   const VkPipelineBinaryKeysAndDataKHR *stored = info->pKeysAndDataInfo;
   out->pipelineBinaryCount = stored ? stored->binaryCount : 1;
   for (uint32_t i = 0; out->pPipelineBinaries && i < out->pipelineBinaryCount; i++) {
      FakeBinary binary = {handle_of<VkPipelineBinaryKHR>(driver->add("binary")), {}};
      if (stored) {
         const auto *data = static_cast<const uint8_t *>(stored->pPipelineBinaryData[i].pData);
         binary.data.assign(data, data + stored->pPipelineBinaryData[i].dataSize);
      } else {
         const std::span words = driver->shaders.back().words;
         binary.data.resize(words.size_bytes());
         memcpy(binary.data.data(), words.data(), words.size_bytes());
      }
      out->pPipelineBinaries[i] = binary.handle;
      driver->binaries.push_back(binary);
   }
   return driver->enter("vkCreatePipelineBinariesKHR");
}

VkResult VKAPI_CALL get_binary_data(VkDevice, const VkPipelineBinaryDataInfoKHR *info,
                                    VkPipelineBinaryKeyKHR *key, size_t *size, void *data)
{
   WithoutInjection w;
   const std::vector<uint8_t> &bytes =
      std::ranges::find(driver->binaries, info->pipelineBinary, &FakeBinary::handle)->data;
   key->keySize = 1;
   key->key[0] = 0x22;
   const size_t given = *size;
   *size = bytes.size();
   if (data && given < bytes.size())
      return VK_ERROR_NOT_ENOUGH_SPACE_KHR;
   if (data)
      memcpy(data, bytes.data(), bytes.size());
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_binary(VkDevice, VkPipelineBinaryKHR binary, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (binary)
      driver->remove(number(binary), "binary");
}

VkResult VKAPI_CALL create_shaders(VkDevice, uint32_t count, const VkShaderCreateInfoEXT *infos,
                                   const VkAllocationCallbacks *, VkShaderEXT *out)
{
   WithoutInjection w;
   const VkResult result = driver->enter("vkCreateShadersEXT");
   for (uint32_t i = 0; i < count; i++) {
      out[i] = VK_NULL_HANDLE;
      if (result != VK_SUCCESS)
         continue;
      const auto *code = static_cast<const uint32_t *>(infos[i].pCode);
      SeenShader seen = {
         .words = {code, code + infos[i].codeSize / 4},
         .entry_point = infos[i].pName,
         .flags = infos[i].flags,
         .specialized = infos[i].pSpecializationInfo != nullptr,
      };
      see_required_size(seen, infos[i].pNext);
      out[i] = seen.object = handle_of<VkShaderEXT>(driver->add("shader"));
      driver->shaders.push_back(seen);
   }
   return result;
}

/// A shader's binary is its code.
VkResult VKAPI_CALL get_shader_binary(VkDevice, VkShaderEXT shader, size_t *size, void *data)
{
   WithoutInjection w;
   const auto seen = std::ranges::find(driver->shaders.rbegin(), driver->shaders.rend(), shader,
                                       &SeenShader::object);
   const size_t needed = seen->words.size() * sizeof(uint32_t);
   if (data && *size < needed) {
      *size = 0;
      return VK_INCOMPLETE;
   }
   *size = needed;
   if (data)
      memcpy(data, seen->words.data(), needed);
   return VK_SUCCESS;
}

void VKAPI_CALL destroy_shader(VkDevice, VkShaderEXT shader, const VkAllocationCallbacks *)
{
   WithoutInjection w;
   if (shader)
      driver->remove(number(shader), "shader");
}

void VKAPI_CALL get_module_identifier(VkDevice, VkShaderModule, VkShaderModuleIdentifierEXT *out)
{
   out->identifierSize = 1;
   out->identifier[0] = 0xaa;
}

void VKAPI_CALL get_module_info_identifier(VkDevice, const VkShaderModuleCreateInfo *,
                                           VkShaderModuleIdentifierEXT *out)
{
   out->identifierSize = 1;
   out->identifier[0] = 0xaa;
}

const Command commands[] = {
   COMMAND("vkCreateDevice", create_device),
   COMMAND("vkGetDeviceProcAddr", FakeDriver::get_device_proc_addr),
   COMMAND("vkDestroyDevice", destroy_device),
   COMMAND("vkCreateShaderModule", create_shader_module),
   COMMAND("vkDestroyShaderModule", destroy_shader_module),
   COMMAND("vkCreateComputePipelines", create_compute_pipelines),
   COMMAND("vkCreateGraphicsPipelines", create_graphics_pipelines),
   COMMAND("vkCreateRayTracingPipelinesKHR", create_ray_tracing_pipelines),
   COMMAND("vkCreateRayTracingPipelinesNV", create_ray_tracing_pipelines_nv),
   COMMAND("vkCreateExecutionGraphPipelinesAMDX", create_execution_graphs),
   COMMAND("vkGetPipelineIndirectMemoryRequirementsNV", get_indirect_requirements),
   COMMAND("vkDestroyPipeline", destroy_pipeline),
   COMMAND("vkGetPipelineExecutableInternalRepresentationsKHR", get_representations,
           VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME),
   COMMAND("vkGetPipelineKeyKHR", get_pipeline_key, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME),
   COMMAND("vkCreatePipelineBinariesKHR", create_binaries, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME),
   COMMAND("vkGetPipelineBinaryDataKHR", get_binary_data, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME),
   COMMAND("vkDestroyPipelineBinaryKHR", destroy_binary, VK_KHR_PIPELINE_BINARY_EXTENSION_NAME),
   COMMAND("vkCreateShadersEXT", create_shaders, VK_EXT_SHADER_OBJECT_EXTENSION_NAME),
   COMMAND("vkGetShaderBinaryDataEXT", get_shader_binary, VK_EXT_SHADER_OBJECT_EXTENSION_NAME),
   COMMAND("vkDestroyShaderEXT", destroy_shader, VK_EXT_SHADER_OBJECT_EXTENSION_NAME),
   COMMAND("vkGetShaderModuleIdentifierEXT", get_module_identifier,
           VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME),
   COMMAND("vkGetShaderModuleCreateInfoIdentifierEXT", get_module_info_identifier,
           VK_EXT_SHADER_MODULE_IDENTIFIER_EXTENSION_NAME),
};

} // namespace

std::span<const Command> device_commands()
{
   return commands;
}

} // namespace weft::layer_test
