// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/shader_object.h"

#include "icd/catching.h"
#include "icd/creation_threads.h"
#include "icd/device.h"
#include "icd/log.h"
#include "icd/program_binary.h"
#include "icd/program_object.h"
#include "icd/settings.h"
#include "icd/shader_request.h"
#include "icd/spirv_dump.h"
#include "weft_entrypoints.h"

#include "vk_alloc.h"
#include "vk_log.h"

#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>

using namespace weft;

namespace {

/// Reads a binary. VK_INCOMPATIBLE_SHADER_BINARY_EXT is the only answer to any other bytes.
VkResult load_binary(Device *device, const VkShaderCreateInfoEXT &info, ComputeShader *shader)
{
   const std::span bytes(static_cast<const std::byte *>(info.pCode), info.codeSize);
   Result<KeyedPrograms> loaded = read_binary(bytes, program_cache(device));
   if (!loaded) {
      report_error(&device->vk.base, "vkCreateShadersEXT: " + loaded.error().message);
      return VK_INCOMPATIBLE_SHADER_BINARY_EXT;
   }
   number_dynamic_buffers(info, shader->dynamic_base);
   shader->object = create_program_object(&device->vk, loaded->key, std::move(loaded->programs));
   return shader->object ? VK_SUCCESS : vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
}

VkResult compile_spirv(Device *device, const VkShaderCreateInfoEXT &info, ComputeShader *shader)
{
   const ShaderRequest request = make_request(device, info);
   if (!settings().spirv_folder.empty())
      dump_spirv(settings().spirv_folder, request.source, request.options);
   memcpy(shader->dynamic_base, request.dynamic_base, sizeof(shader->dynamic_base));
   return compile_shader(device, "vkCreateShadersEXT", request, true, nullptr, &shader->object);
}

VkResult create_shader(Device *device, const VkShaderCreateInfoEXT &info,
                       const VkAllocationCallbacks *allocator, VkShaderEXT *out)
{
   if (info.stage != VK_SHADER_STAGE_COMPUTE_BIT)
      return vk_errorf(device, VK_ERROR_INITIALIZATION_FAILED,
                       "vkCreateShadersEXT: the device has no stage but compute");
   ComputeShader shader = {};
   const VkResult result = catching(device, [&] {
      return info.codeType == VK_SHADER_CODE_TYPE_BINARY_EXT ? load_binary(device, info, &shader)
                                                             : compile_spirv(device, info, &shader);
   });
   if (result != VK_SUCCESS)
      return result;
   void *memory = vk_alloc2(&device->vk.alloc, allocator, sizeof(ShaderObject),
                            alignof(ShaderObject), VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
   if (!memory) {
      release_program(&device->vk, shader.object);
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   }
   auto *object = new (memory) ShaderObject();
   vk_object_base_init(&device->vk, &object->base, VK_OBJECT_TYPE_SHADER_EXT);
   object->shader = shader;
   *out = ShaderObject_to_handle(object);
   return VK_SUCCESS;
}

} // namespace

/// A shader that cannot be created leaves the others as they are; the first failure is returned
/// (Vulkan, vkCreateShadersEXT).
VKAPI_ATTR VkResult VKAPI_CALL weft_CreateShadersEXT(VkDevice _device, uint32_t createInfoCount,
                                                     const VkShaderCreateInfoEXT *pCreateInfos,
                                                     const VkAllocationCallbacks *pAllocator,
                                                     VkShaderEXT *pShaders)
{
   VK_FROM_HANDLE(Device, device, _device);
   for (uint32_t i = 0; i < createInfoCount; i++)
      pShaders[i] = VK_NULL_HANDLE;
   const std::unique_ptr<VkResult[]> results(new (std::nothrow) VkResult[createInfoCount]);
   if (!results)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   const auto create = [&](size_t i) {
      results[i] = create_shader(device, pCreateInfos[i], pAllocator, &pShaders[i]);
   };
   if (may_use_threads(device, pAllocator)) {
      create_on_threads(createInfoCount, create);
   } else {
      for (uint32_t i = 0; i < createInfoCount; i++)
         create(i);
   }
   for (uint32_t i = 0; i < createInfoCount; i++) {
      if (results[i] != VK_SUCCESS)
         return results[i];
   }
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL weft_DestroyShaderEXT(VkDevice _device, VkShaderEXT _shader,
                                                 const VkAllocationCallbacks *pAllocator)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(ShaderObject, object, _shader);
   if (!object)
      return;
   release_program(&device->vk, object->shader.object);
   vk_object_base_finish(&object->base);
   object->~ShaderObject();
   vk_free2(&device->vk.alloc, pAllocator, object);
}

VKAPI_ATTR VkResult VKAPI_CALL weft_GetShaderBinaryDataEXT(VkDevice _device, VkShaderEXT _shader,
                                                           size_t *pDataSize, void *pData)
{
   VK_FROM_HANDLE(Device, device, _device);
   VK_FROM_HANDLE(ShaderObject, object, _shader);
   return catching(device, [&] {
      const std::lock_guard lock(object->mutex);
      std::vector<std::byte> &binary = object->binary;
      if (binary.empty())
         binary = write_binary({object->shader.object->key, object->shader.object->programs});
      if (binary.empty())
         return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
      if (!pData) {
         *pDataSize = binary.size();
         return VK_SUCCESS;
      }
      if (*pDataSize < binary.size()) {
         *pDataSize = 0;
         return VK_INCOMPLETE;
      }
      memcpy(pData, binary.data(), binary.size());
      *pDataSize = binary.size();
      return VK_SUCCESS;
   });
}
