// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/indirect_execution_set.h"

#include "icd/device.h"
#include "icd/pipeline.h"
#include "icd/shader_object.h"
#include "weft_entrypoints.h"

#include "vk_log.h"

using namespace weft;

namespace {

const ComputeShader *shader_of(VkPipeline handle)
{
   VK_FROM_HANDLE(Pipeline, pipeline, handle);
   return pipeline ? &pipeline->shader : nullptr;
}

const ComputeShader *shader_of(VkShaderEXT handle)
{
   VK_FROM_HANDLE(ShaderObject, object, handle);
   return object ? &object->shader : nullptr;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL weft_CreateIndirectExecutionSetEXT(
   VkDevice _device, const VkIndirectExecutionSetCreateInfoEXT *pCreateInfo,
   const VkAllocationCallbacks *pAllocator, VkIndirectExecutionSetEXT *pIndirectExecutionSet)
{
   VK_FROM_HANDLE(Device, device, _device);
   const bool has_pipelines =
      pCreateInfo->type == VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT;
   const VkIndirectExecutionSetInfoEXT &info = pCreateInfo->info;
   const uint32_t count =
      has_pipelines ? info.pPipelineInfo->maxPipelineCount : info.pShaderInfo->maxShaderCount;
   if (count > max_execution_set_elements)
      return vk_error(device, VK_ERROR_OUT_OF_DEVICE_MEMORY);
   auto *set = static_cast<IndirectExecutionSet *>(
      vk_object_zalloc(&device->vk, pAllocator,
                       sizeof(IndirectExecutionSet) + size_t(count) * sizeof(const ComputeShader *),
                       VK_OBJECT_TYPE_INDIRECT_EXECUTION_SET_EXT));
   if (!set)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   set->count = count;
   if (has_pipelines) {
      set->write(0, shader_of(info.pPipelineInfo->initialPipeline));
   } else {
      for (uint32_t i = 0; i < info.pShaderInfo->shaderCount; i++)
         set->write(i, shader_of(info.pShaderInfo->pInitialShaders[i]));
   }
   *pIndirectExecutionSet = IndirectExecutionSet_to_handle(set);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyIndirectExecutionSetEXT(
   VkDevice _device, VkIndirectExecutionSetEXT indirectExecutionSet,
   const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(IndirectExecutionSet, set, indirectExecutionSet);
   if (set)
      vk_object_free(&device->vk, pAllocator, set);
}

/// The queue may read the other elements meanwhile.
VKAPI_ATTR void VKAPI_CALL weft_UpdateIndirectExecutionSetPipelineEXT(
   VkDevice, VkIndirectExecutionSetEXT indirectExecutionSet, uint32_t executionSetWriteCount,
   const VkWriteIndirectExecutionSetPipelineEXT *pExecutionSetWrites)
{
   VK_FROM_HANDLE(IndirectExecutionSet, set, indirectExecutionSet);
   for (uint32_t i = 0; i < executionSetWriteCount; i++)
      set->write(pExecutionSetWrites[i].index, shader_of(pExecutionSetWrites[i].pipeline));
}

VKAPI_ATTR void VKAPI_CALL weft_UpdateIndirectExecutionSetShaderEXT(
   VkDevice, VkIndirectExecutionSetEXT indirectExecutionSet, uint32_t executionSetWriteCount,
   const VkWriteIndirectExecutionSetShaderEXT *pExecutionSetWrites)
{
   VK_FROM_HANDLE(IndirectExecutionSet, set, indirectExecutionSet);
   for (uint32_t i = 0; i < executionSetWriteCount; i++)
      set->write(pExecutionSetWrites[i].index, shader_of(pExecutionSetWrites[i].shader));
}
