// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_object: shaders are lowered as they are created, so nothing of them is kept.

#include "layer/shader_object.h"

#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/lowering.h"
#include "layer/shader_module.h"
#include "layer/struct_chain.h"

#include <algorithm>
#include <deque>

namespace weft::layer {

namespace {

std::span<const uint32_t> words_of(const Device &device, const VkShaderCreateInfoEXT &info)
{
   return info.codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT
             ? matrix_words(device, info.pCode, info.codeSize)
             : std::span<const uint32_t>();
}

/// What an edited VkShaderCreateInfoEXT points to.
struct Edited {
   LoweredShader shader;
   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
};

constexpr auto size_struct =
   VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;

void require_size(uint32_t size, Edited &edited, VkShaderCreateInfoEXT &info)
{
   if (find_struct(info.pNext, size_struct))
      return;
   edited.size = {size_struct, const_cast<void *>(info.pNext), size};
   info.pNext = &edited.size;
}

VkResult edit(const Device &device, std::span<const uint32_t> words, Edited &edited,
              VkShaderCreateInfoEXT &info)
{
   const auto *required = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(
      find_struct(info.pNext, size_struct));
   const uint32_t size = required ? required->requiredSubgroupSize : device.physical->subgroup_size;
   LoweredShader &shader = edited.shader;
   if (!words.empty()) {
      const ShaderRequest request = {words, info.stage, info.pName, info.pSpecializationInfo, size};
      const VkResult result = lower_shader(device, request, shader);
      if (result != VK_SUCCESS)
         return result;
   }
   const bool varying = info.flags & VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
   if (shader.form != Form::lowered && (device.sized_stages & info.stage) &&
       (device.fixed_sizes || !varying)) {
      info.flags &= ~VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
      require_size(size, edited, info);
   }
   if (shader.form == Form::original)
      return VK_SUCCESS;
   if (shader.form == Form::lowered) {
      info.flags &= ~VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
      if (shader.require_full_subgroups)
         info.flags |= VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
      if (shader.require_size)
         require_size(size, edited, info);
      info.pSpecializationInfo = nullptr; // folded in
   }
   info.codeSize = shader.words.size() * sizeof(uint32_t);
   info.pCode = shader.words.data();
   return VK_SUCCESS;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
                                              const VkShaderCreateInfoEXT *infos,
                                              const VkAllocationCallbacks *allocator,
                                              VkShaderEXT *shaders)
{
   Device *device = find_device(handle);
   const bool ours = std::any_of(infos, infos + count, [&](const auto &info) {
      return (device->sized_stages & info.stage) || !words_of(*device, info).empty();
   });
   if (!ours)
      return device->next.CreateShadersEXT(handle, count, infos, allocator, shaders);

   std::fill_n(shaders, count, VkShaderEXT(VK_NULL_HANDLE));
   return guarded([&] {
      std::vector<VkShaderCreateInfoEXT> edited_infos(infos, infos + count);
      std::deque<Edited> edited;
      // An error belongs to the first shader that is not there: those before it are created still.
      VkResult failure = VK_SUCCESS;
      uint32_t good = 0;
      for (; good < count; good++) {
         const std::span<const uint32_t> words = words_of(*device, infos[good]);
         failure = edit(*device, words, edited.emplace_back(), edited_infos[good]);
         if (failure != VK_SUCCESS)
            break;
      }
      const VkResult result =
         good ? device->next.CreateShadersEXT(handle, good, edited_infos.data(), allocator, shaders)
              : VK_SUCCESS;
      return result != VK_SUCCESS ? result : failure;
   });
}

} // namespace weft::layer
