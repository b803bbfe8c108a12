// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_object: shaders are lowered when they are created, so the layer keeps no words.

#include "layer/shader_object.h"

#include "layer/binary_header.h"
#include "layer/guard.h"
#include "layer/instance.h"
#include "layer/lowering.h"
#include "layer/shader_module.h"
#include "layer/struct_chain.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>

namespace weft::layer {

namespace {

std::span<const uint32_t> words_of(const Device &device, const VkShaderCreateInfoEXT &info)
{
   return info.codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT
             ? matrix_words(device, info.pCode, info.codeSize)
             : std::span<const uint32_t>();
}

/// Removes the header from the description of a binary. The changes that it names; nothing for
/// binaries without a header and for other code.
std::optional<StagePlan> take_header(VkShaderCreateInfoEXT &info)
{
   if (info.codeType != VK_SHADER_CODE_TYPE_BINARY_EXT)
      return std::nullopt;
   const std::optional<StagePlan> plan = read_binary_header(info.pCode, info.codeSize);
   if (plan) {
      info.pCode = static_cast<const uint8_t *>(info.pCode) + binary_header_size;
      info.codeSize -= binary_header_size;
   }
   return plan;
}

bool is_ours(const Device &device, VkShaderCreateInfoEXT info)
{
   return (device.size_rules.sized_stages & info.stage) || !words_of(device, info).empty() ||
          take_header(info);
}

/// The data that an edited VkShaderCreateInfoEXT points to.
struct Edited {
   LoweredShader shader;
   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
   std::unique_ptr<StagePlan> plan; ///< of a lowered shader
};

VkResult edit(const Device &device, Edited &edited, VkShaderCreateInfoEXT &info)
{
   if (const std::optional<StagePlan> plan = take_header(info)) {
      edited.plan = std::make_unique<StagePlan>(*plan);
      apply(*plan, edited.shader, info, edited.size);
      return VK_SUCCESS;
   }
   const std::span<const uint32_t> words = words_of(device, info);
   const StageSizes sizes = sizes_of(info);
   if (!words.empty()) {
      const ShaderRequest request = {words, info.stage, info.pName, info.pSpecializationInfo,
                                     subgroup_size_of(device.size_rules, sizes)};
      const VkResult result = lower_shader(device, request, edited.shader);
      if (result != VK_SUCCESS)
         return result;
   }
   const StagePlan plan = plan_stage(device.size_rules, sizes, edited.shader);
   apply(plan, edited.shader, info, edited.size);
   if (edited.shader.form == Form::lowered)
      edited.plan = std::make_unique<StagePlan>(plan);
   return VK_SUCCESS;
}

/// Remembers the changes of the lowered ones among the created shaders. Without memory, no shader
/// remains.
void remember(Device &device, std::deque<Edited> &edited, std::span<VkShaderEXT> shaders,
              const VkAllocationCallbacks *allocator)
{
   OnFailure undo([&] {
      for (VkShaderEXT &shader : shaders) {
         destroy_shader(device.handle, shader, allocator);
         shader = VK_NULL_HANDLE;
      }
   });
   for (size_t i = 0; i < shaders.size(); i++) {
      if (shaders[i] && edited[i].plan)
         device.lowered_shaders.add(shaders[i], std::move(edited[i].plan));
   }
   undo.succeeded();
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_shaders(VkDevice handle, uint32_t count,
                                              const VkShaderCreateInfoEXT *infos,
                                              const VkAllocationCallbacks *allocator,
                                              VkShaderEXT *shaders)
{
   Device *device = find_device(handle);
   const bool ours =
      std::any_of(infos, infos + count, [&](const auto &info) { return is_ours(*device, info); });
   if (!ours)
      return device->next.CreateShadersEXT(handle, count, infos, allocator, shaders);

   std::fill_n(shaders, count, VkShaderEXT(VK_NULL_HANDLE));
   return guarded([&] {
      std::vector<VkShaderCreateInfoEXT> edited_infos(infos, infos + count);
      std::deque<Edited> edited;
      // An error belongs to the first shader that is missing. The shaders before it are created.
      VkResult failure = VK_SUCCESS;
      uint32_t good = 0;
      for (; good < count; good++) {
         failure = edit(*device, edited.emplace_back(), edited_infos[good]);
         if (failure != VK_SUCCESS)
            break;
      }
      const VkResult result =
         good ? device->next.CreateShadersEXT(handle, good, edited_infos.data(), allocator, shaders)
              : VK_SUCCESS;
      remember(*device, edited, {shaders, good}, allocator);
      const auto missing =
         size_t(std::find(shaders, shaders + good, VkShaderEXT(VK_NULL_HANDLE)) - shaders);
      if (result < 0 && missing < good)
         report_drivers_failure(*device, infos[missing].pName, edited[missing].shader, result);
      return result != VK_SUCCESS ? result : failure;
   });
}

VKAPI_ATTR VkResult VKAPI_CALL get_shader_binary_data(VkDevice handle, VkShaderEXT shader,
                                                      size_t *size, void *data)
{
   const Device *device = find_device(handle);
   const StagePlan *plan = device->lowered_shaders.find(shader);
   if (!plan)
      return device->next.GetShaderBinaryDataEXT(handle, shader, size, data);
   const size_t given = data ? *size : SIZE_MAX;
   *size = 0;
   if (given < binary_header_size)
      return VK_INCOMPLETE;
   size_t driver_size = given - binary_header_size;
   void *drivers = data ? static_cast<uint8_t *>(data) + binary_header_size : nullptr;
   const VkResult result =
      device->next.GetShaderBinaryDataEXT(handle, shader, &driver_size, drivers);
   if (result != VK_SUCCESS)
      return result;
   *size = driver_size + binary_header_size;
   if (data)
      write_binary_header(*plan, data);
   return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_shader(VkDevice handle, VkShaderEXT shader,
                                          const VkAllocationCallbacks *allocator)
{
   Device *device = find_device(handle);
   device->lowered_shaders.take(shader);
   device->next.DestroyShaderEXT(handle, shader, allocator);
}

} // namespace weft::layer
