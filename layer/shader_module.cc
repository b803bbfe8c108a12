// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/shader_module.h"

#include "layer/device.h"
#include "layer/guard.h"
#include "layer/physical_device.h"
#include "layer/struct_chain.h"

#include "util/mesa-blake3.h"

#include <algorithm>
#include <cstring>

namespace weft::layer {

namespace {

/// The beginning of the layer's own identifiers; BLAKE3 of the words follows.
constexpr uint8_t identifier_mark[8] = {'W', 'e', 'f', 't', 'c', 'm', 0, 1};
constexpr size_t hash_bytes = VK_MAX_SHADER_MODULE_IDENTIFIER_SIZE_EXT - sizeof(identifier_mark);

void make_identifier(std::span<const uint32_t> words, VkShaderModuleIdentifierEXT *out)
{
   blake3_hash hash;
   _mesa_blake3_compute(words.data(), words.size_bytes(), hash);
   static_assert(hash_bytes <= sizeof(hash));
   out->identifierSize = sizeof(identifier_mark) + hash_bytes;
   memcpy(out->identifier, identifier_mark, sizeof(identifier_mark));
   memcpy(out->identifier + sizeof(identifier_mark), hash, hash_bytes);
}

bool is_our_identifier(const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *info)
{
   return info && info->identifierSize == sizeof(identifier_mark) + hash_bytes &&
          memcmp(info->pIdentifier, identifier_mark, sizeof(identifier_mark)) == 0;
}

/// An empty compute shader. A number distinguishes it from all others, because drivers may give
/// equal modules equal handles.
std::vector<uint32_t> placeholder(uint32_t number)
{
   return {
      0x07230203,    0x00010000, 0,  7,          0,    // header: version 1.0, ids below 7
      2 << 16 | 17,  1,                                // OpCapability Shader
      3 << 16 | 14,  0,          1,                    // OpMemoryModel Logical GLSL450
      5 << 16 | 15,  5,          1,  0x6e69616d, 0,    // OpEntryPoint GLCompute %1 "main"
      6 << 16 | 16,  1,          17, 1,          1, 1, // OpExecutionMode %1 LocalSize 1 1 1
      2 << 16 | 19,  2,                                // %2 = OpTypeVoid
      3 << 16 | 33,  3,          2,                    // %3 = OpTypeFunction %2
      4 << 16 | 21,  5,          32, 0,                // %5 = OpTypeInt 32 0
      4 << 16 | 43,  5,          6,  number,           // %6 = OpConstant %5 number
      5 << 16 | 54,  2,          1,  0,          3,    // %1 = OpFunction %2 None %3
      2 << 16 | 248, 4,                                // %4 = OpLabel
      1 << 16 | 253,                                   // OpReturn
      1 << 16 | 56,                                    // OpFunctionEnd
   };
}

} // namespace

std::span<const uint32_t> matrix_words(const Device &device, const void *code, size_t bytes)
{
   const std::span words(static_cast<const uint32_t *>(code), bytes / sizeof(uint32_t));
   return bytes % sizeof(uint32_t) == 0 && spirv::declares_any(words, device.matrices.capabilities)
             ? words
             : std::span<const uint32_t>();
}

StageSource find_source(const Device &device, const VkPipelineShaderStageCreateInfo &stage)
{
   StageSource source;
   if (device.matrices.capabilities.empty())
      return source;
   if (stage.module) {
      if (const MatrixModule *module = device.modules.find(stage.module))
         source.words = module->words;
   } else if (auto *info = static_cast<const VkShaderModuleCreateInfo *>(
                 find_struct(stage.pNext, VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO))) {
      source.words = matrix_words(device, info->pCode, info->codeSize);
   } else {
      source.by_identifier = is_our_identifier(
         static_cast<const VkPipelineShaderStageModuleIdentifierCreateInfoEXT *>(find_struct(
            stage.pNext,
            VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_MODULE_IDENTIFIER_CREATE_INFO_EXT)));
   }
   return source;
}

VKAPI_ATTR VkResult VKAPI_CALL create_shader_module(VkDevice handle,
                                                    const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkShaderModule *out)
{
   Device *device = find_device(handle);
   const std::span words = matrix_words(*device, info->pCode, info->codeSize);
   if (words.empty())
      return device->next.CreateShaderModule(handle, info, allocator, out);

   return guarded([&] {
      auto module = std::make_unique<MatrixModule>();
      module->words.assign(words.begin(), words.end());
      const std::vector<uint32_t> code = placeholder(device->placeholders++);
      const VkShaderModuleCreateInfo placeholder_info = {
         .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
         .codeSize = code.size() * sizeof(uint32_t),
         .pCode = code.data(),
      };
      // A driver with its own matrices may have to take the module unchanged.
      const VkResult result = device->next.CreateShaderModule(
         handle, device->physical->extends_native() ? info : &placeholder_info, allocator, out);
      if (result != VK_SUCCESS)
         return result;
      OnFailure undo([&] {
         device->next.DestroyShaderModule(handle, *out, allocator);
         *out = VK_NULL_HANDLE;
      });
      device->modules.add(*out, std::move(module));
      undo.succeeded();
      return VK_SUCCESS;
   });
}

VKAPI_ATTR void VKAPI_CALL destroy_shader_module(VkDevice handle, VkShaderModule module,
                                                 const VkAllocationCallbacks *allocator)
{
   Device *device = find_device(handle);
   device->modules.take(module);
   device->next.DestroyShaderModule(handle, module, allocator);
}

VKAPI_ATTR void VKAPI_CALL get_shader_module_identifier(VkDevice handle, VkShaderModule module,
                                                        VkShaderModuleIdentifierEXT *identifier)
{
   Device *device = find_device(handle);
   // A driver with its own matrices knows the module, and its cache the pipelines of this module.
   const MatrixModule *ours =
      device->physical->extends_native() ? nullptr : device->modules.find(module);
   if (ours)
      make_identifier(ours->words, identifier);
   else
      device->next.GetShaderModuleIdentifierEXT(handle, module, identifier);
}

VKAPI_ATTR void VKAPI_CALL get_shader_module_create_info_identifier(
   VkDevice handle, const VkShaderModuleCreateInfo *info, VkShaderModuleIdentifierEXT *identifier)
{
   Device *device = find_device(handle);
   const std::span words = device->physical->extends_native()
                              ? std::span<const uint32_t>()
                              : matrix_words(*device, info->pCode, info->codeSize);
   if (!words.empty())
      make_identifier(words, identifier);
   else
      device->next.GetShaderModuleCreateInfoIdentifierEXT(handle, info, identifier);
}

} // namespace weft::layer
