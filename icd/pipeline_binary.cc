// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/pipeline_binary.h"

#include "icd/catching.h"
#include "icd/device.h"
#include "icd/log.h"
#include "icd/pipeline.h"
#include "icd/program_object.h"
#include "icd/shader_request.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_util.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>

using namespace weft;

namespace {

void write_key(const CacheKey &key, VkPipelineBinaryKeyKHR *out)
{
   static_assert(sizeof(key) <= VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR);
   out->keySize = sizeof(key);
   memcpy(out->key, key.data(), sizeof(key));
}

/// Of all pipelines: binaries are good for one version of Weft and one kind of CPU.
CacheKey global_key()
{
   KeyBuilder builder("pipeline binaries");
   builder.add_bytes(cpu::cache_uuid());
   builder.add_bytes(std::as_bytes(std::span(&shader_binary_version, 1)));
   return builder.finish();
}

const VkComputePipelineCreateInfo *compute_info(const VkPipelineCreateInfoKHR &info)
{
   return vk_find_struct_const(info.pNext, COMPUTE_PIPELINE_CREATE_INFO);
}

VkResult refuse(Device *device, VkResult result, const std::string &why)
{
   report_error(&device->vk.base, why);
   return result;
}

/// Where a binary comes from: data, a pipeline, or the cache of compiled shaders.
VkResult find_programs(Device *device, const VkPipelineBinaryCreateInfoKHR &info, uint32_t number,
                       KeyedPrograms *out)
{
   constexpr VkResult failure = VK_ERROR_INITIALIZATION_FAILED;
   const std::string command = "vkCreatePipelineBinariesKHR: ";
   if (const VkPipelineBinaryKeysAndDataKHR *given = info.pKeysAndDataInfo) {
      const VkPipelineBinaryDataKHR &data = given->pPipelineBinaryData[number];
      Result<KeyedPrograms> loaded = read_binary(
         {static_cast<const std::byte *>(data.pData), data.dataSize}, program_cache(device));
      if (!loaded)
         return refuse(device, failure, command + loaded.error().message);
      const VkPipelineBinaryKeyKHR &key = given->pPipelineBinaryKeys[number];
      if (key.keySize != sizeof(loaded->key) ||
          memcmp(key.key, loaded->key.data(), sizeof(loaded->key)) != 0)
         return refuse(device, failure, command + "the key is another binary's");
      *out = std::move(*loaded);
      return VK_SUCCESS;
   }
   if (info.pipeline) {
      const ProgramObject &object = *Pipeline_from_handle(info.pipeline)->shader.object;
      *out = {object.key, object.programs};
      return VK_SUCCESS;
   }
   const VkComputePipelineCreateInfo *compute = compute_info(*info.pPipelineCreateInfo);
   if (!compute || !program_cache(device))
      return VK_PIPELINE_BINARY_MISSING_KHR;
   const ShaderRequest request = make_request(device, *compute);
   auto cached = cpu::compile_cached(program_cache(device), request.source, request.options, false);
   if (!cached || !*cached)
      return VK_PIPELINE_BINARY_MISSING_KHR;
   *out = {request.key, std::move(*cached)};
   return VK_SUCCESS;
}

VkResult create_binary(Device *device, const VkPipelineBinaryCreateInfoKHR &info, uint32_t number,
                       const VkAllocationCallbacks *allocator, VkPipelineBinaryKHR *out)
{
   KeyedPrograms shader;
   const VkResult result = find_programs(device, info, number, &shader);
   if (result != VK_SUCCESS)
      return result;
   void *memory = vk_alloc2(&device->vk.alloc, allocator, sizeof(PipelineBinary),
                            alignof(PipelineBinary), VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   if (!memory)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   auto *binary = new (memory) PipelineBinary();
   vk_object_base_init(&device->vk, &binary->base, VK_OBJECT_TYPE_PIPELINE_BINARY_KHR);
   binary->shader = std::move(shader);
   *out = PipelineBinary_to_handle(binary);
   return VK_SUCCESS;
}

} // namespace

const KeyedPrograms *weft::programs_of_binary(const VkComputePipelineCreateInfo &info)
{
   const VkPipelineBinaryInfoKHR *binaries =
      vk_find_struct_const(info.pNext, PIPELINE_BINARY_INFO_KHR);
   return binaries && binaries->binaryCount > 0
             ? &PipelineBinary_from_handle(binaries->pPipelineBinaries[0])->shader
             : nullptr;
}

VKAPI_ATTR VkResult VKAPI_CALL weft_CreatePipelineBinariesKHR(
   VkDevice _device, const VkPipelineBinaryCreateInfoKHR *pCreateInfo,
   const VkAllocationCallbacks *pAllocator, VkPipelineBinaryHandlesInfoKHR *pBinaries)
{
   VK_FROM_HANDLE(Device, device, _device);
   const uint32_t count =
      pCreateInfo->pKeysAndDataInfo ? pCreateInfo->pKeysAndDataInfo->binaryCount : 1;
   if (!pBinaries->pPipelineBinaries) {
      pBinaries->pipelineBinaryCount = count;
      return VK_SUCCESS;
   }
   const uint32_t written = std::min(count, pBinaries->pipelineBinaryCount);
   pBinaries->pipelineBinaryCount = written;
   VkResult first_failure = VK_SUCCESS;
   for (uint32_t i = 0; i < written; i++) {
      VkPipelineBinaryKHR &out = pBinaries->pPipelineBinaries[i];
      out = VK_NULL_HANDLE;
      const VkResult result =
         catching(device, [&] { return create_binary(device, *pCreateInfo, i, pAllocator, &out); });
      if (first_failure == VK_SUCCESS)
         first_failure = result;
   }
   return first_failure == VK_SUCCESS && written < count ? VK_INCOMPLETE : first_failure;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyPipelineBinaryKHR(VkDevice _device,
                                                         VkPipelineBinaryKHR pipelineBinary,
                                                         const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(PipelineBinary, binary, pipelineBinary);
   if (!binary)
      return;
   vk_object_base_finish(&binary->base);
   binary->~PipelineBinary();
   vk_free2(&device->vk.alloc, pAllocator, binary);
}

VKAPI_ATTR VkResult VKAPI_CALL
weft_GetPipelineKeyKHR(VkDevice _device, const VkPipelineCreateInfoKHR *pPipelineCreateInfo,
                       VkPipelineBinaryKeyKHR *pPipelineKey)
{
   VK_FROM_HANDLE(Device, device, _device);
   return catching(device, [&] {
      if (!pPipelineCreateInfo) {
         write_key(global_key(), pPipelineKey);
         return VK_SUCCESS;
      }
      const VkComputePipelineCreateInfo *compute = compute_info(*pPipelineCreateInfo);
      if (!compute)
         return refuse(device, VK_ERROR_UNKNOWN, "vkGetPipelineKeyKHR: the device only computes");
      write_key(make_request(device, *compute).key, pPipelineKey);
      return VK_SUCCESS;
   });
}

VKAPI_ATTR VkResult VKAPI_CALL
weft_GetPipelineBinaryDataKHR(VkDevice _device, const VkPipelineBinaryDataInfoKHR *pInfo,
                              VkPipelineBinaryKeyKHR *pPipelineBinaryKey,
                              size_t *pPipelineBinaryDataSize, void *pPipelineBinaryData)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(PipelineBinary, binary, pInfo->pipelineBinary);
   return catching(device, [&] {
      const std::lock_guard lock(binary->mutex);
      std::vector<std::byte> &bytes = binary->bytes;
      if (bytes.empty())
         bytes = write_binary(binary->shader);
      if (bytes.empty())
         return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
      const size_t space = *pPipelineBinaryDataSize;
      *pPipelineBinaryDataSize = bytes.size();
      if (pPipelineBinaryData && space < bytes.size())
         return VK_ERROR_NOT_ENOUGH_SPACE_KHR;
      write_key(binary->shader.key, pPipelineBinaryKey);
      if (pPipelineBinaryData)
         memcpy(pPipelineBinaryData, bytes.data(), bytes.size());
      return VK_SUCCESS;
   });
}

/// A pipeline keeps its programs anyway.
VKAPI_ATTR VkResult VKAPI_CALL weft_ReleaseCapturedPipelineDataKHR(
   VkDevice, const VkReleaseCapturedPipelineDataInfoKHR *, const VkAllocationCallbacks *)
{
   return VK_SUCCESS;
}
