// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_object: shaders are lowered as they are created, so nothing of them is kept.

#include "layer/shader_object.h"

#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/lowering.h"
#include "layer/struct_chain.h"

#include <algorithm>
#include <deque>

namespace weft::layer {

namespace {

std::span<const uint32_t> matrix_words(const VkShaderCreateInfoEXT &info)
{
   const std::span words(static_cast<const uint32_t *>(info.pCode), info.codeSize / 4);
   return info.codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT && info.codeSize % 4 == 0 &&
                spirv::needs_lowering(words)
             ? words
             : std::span<const uint32_t>();
}

/// What an edited VkShaderCreateInfoEXT points to.
struct Edited {
   LoweredShader shader;
   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
};

VkResult edit(const Device &device, std::span<const uint32_t> words, Edited &edited,
              VkShaderCreateInfoEXT &info)
{
   constexpr auto size_struct =
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
   const auto *required = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *>(
      find_struct(info.pNext, size_struct));
   const uint32_t size = required ? required->requiredSubgroupSize : device.physical->subgroup_size;
   const bool compute = info.stage == VK_SHADER_STAGE_COMPUTE_BIT;
   if ((!compute && device.physical->extends_native()) ||
       is_for_driver(device, words, info.pName, info.pSpecializationInfo, size))
      return VK_SUCCESS;
   if (!compute) {
      report_error(device, "cooperative matrices can be used in compute shaders only");
      return VK_ERROR_UNKNOWN;
   }
   VkResult result =
      lower_shader(device, words, info.pName, info.pSpecializationInfo, size, false, edited.shader);
   if (result != VK_SUCCESS)
      return result;
   SubgroupDemand demand;
   result = demand_subgroups(device, edited.shader, size, demand);
   if (result != VK_SUCCESS)
      return result;
   info.flags &= ~VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT;
   if (demand.require_full)
      info.flags |= VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
   if (demand.require_size && !required) {
      edited.size = {size_struct, const_cast<void *>(info.pNext), size};
      info.pNext = &edited.size;
   }
   info.codeSize = edited.shader.words.size() * sizeof(uint32_t);
   info.pCode = edited.shader.words.data();
   info.pSpecializationInfo = nullptr; // folded in
   return VK_SUCCESS;
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
                                              const VkShaderCreateInfoEXT *infos,
                                              const VkAllocationCallbacks *allocator,
                                              VkShaderEXT *shaders)
{
   Device *device = find_device(handle);
   const bool ours = device->lowers && std::any_of(infos, infos + count, [](const auto &info) {
                        return !matrix_words(info).empty();
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
         const std::span<const uint32_t> words = matrix_words(infos[good]);
         if (!words.empty())
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
