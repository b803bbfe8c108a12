// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/other_pipelines.h"

#include "layer/edited_pipeline.h"
#include "layer/guard.h"
#include "layer/physical_device.h"

namespace weft::layer {

namespace {

/// VK_NV_device_generated_commands: pipelines within a pipeline.
std::span<const VkGraphicsShaderGroupCreateInfoNV>
groups_of(const VkGraphicsPipelineCreateInfo &info)
{
   const auto *groups =
      vk_find_struct_const(info.pNext, GRAPHICS_PIPELINE_SHADER_GROUPS_CREATE_INFO_NV);
   return {groups ? groups->pGroups : nullptr, groups ? groups->groupCount : 0};
}

template <typename Info>
std::span<const VkGraphicsShaderGroupCreateInfoNV> groups_of(const Info &)
{
   return {};
}

template <typename Info>
bool needs_edit(const Device &device, std::span<const Info> infos)
{
   return std::ranges::any_of(infos, [&](const Info &info) {
      return needs_edit(device, stages_of(info)) || !groups_of(info).empty();
   });
}

/// Creates pipelines with edited stages, by create(infos); unchanged, if no stage needs an edit.
template <typename Info, typename Create>
VkResult create_pipelines(const Device &device, std::span<const Info> infos, VkPipeline *pipelines,
                          Create &&create)
{
   if (!needs_edit(device, infos))
      return create(infos.data());
   std::fill_n(pipelines, infos.size(), VkPipeline(VK_NULL_HANDLE));
   return guarded([&] {
      std::deque<EditedPipeline<Info>> edited;
      std::vector<Info> edited_infos;
      for (const Info &info : infos) {
         for (const VkGraphicsShaderGroupCreateInfoNV &group : groups_of(info)) {
            if (!device.physical->extends_native() &&
                std::ranges::any_of(stages_of(group), [&](const auto &stage) {
                   return find_source(device, stage).is_ours();
                })) {
               report_error(device, "a module with cooperative matrices in a group of shaders");
               return VK_ERROR_UNKNOWN;
            }
         }
         const VkResult result = edited.emplace_back(device, info).edit();
         if (result != VK_SUCCESS)
            return result;
         edited_infos.push_back(edited.back().finish());
      }
      return create(edited_infos.data());
   });
}

} // namespace

VKAPI_ATTR VkResult VKAPI_CALL create_graphics_pipelines(VkDevice handle, VkPipelineCache cache,
                                                         uint32_t count,
                                                         const VkGraphicsPipelineCreateInfo *infos,
                                                         const VkAllocationCallbacks *allocator,
                                                         VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   return create_pipelines(*device, std::span(infos, count), pipelines, [&](const auto *edited) {
      return device->next.CreateGraphicsPipelines(handle, cache, count, edited, allocator,
                                                  pipelines);
   });
}

VKAPI_ATTR VkResult VKAPI_CALL create_ray_tracing_pipelines(
   VkDevice handle, VkDeferredOperationKHR operation, VkPipelineCache cache, uint32_t count,
   const VkRayTracingPipelineCreateInfoKHR *infos, const VkAllocationCallbacks *allocator,
   VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   const auto create_ray_tracing = device->next.CreateRayTracingPipelinesKHR;
   if (!needs_edit(*device, std::span(infos, count)))
      return create_ray_tracing(handle, operation, cache, count, infos, allocator, pipelines);
   // The edited structs do not outlive this call, so the operation is not deferred.
   const VkResult result =
      create_pipelines(*device, std::span(infos, count), pipelines, [&](const auto *edited) {
         return create_ray_tracing(handle, VK_NULL_HANDLE, cache, count, edited, allocator,
                                   pipelines);
      });
   return result == VK_SUCCESS && operation ? VK_OPERATION_NOT_DEFERRED_KHR : result;
}

VKAPI_ATTR VkResult VKAPI_CALL
create_ray_tracing_pipelines_nv(VkDevice handle, VkPipelineCache cache, uint32_t count,
                                const VkRayTracingPipelineCreateInfoNV *infos,
                                const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   return create_pipelines(*device, std::span(infos, count), pipelines, [&](const auto *edited) {
      return device->next.CreateRayTracingPipelinesNV(handle, cache, count, edited, allocator,
                                                      pipelines);
   });
}

VKAPI_ATTR VkResult VKAPI_CALL
create_execution_graph_pipelines(VkDevice handle, VkPipelineCache cache, uint32_t count,
                                 const VkExecutionGraphPipelineCreateInfoAMDX *infos,
                                 const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
   Device *device = find_device(handle);
   return create_pipelines(*device, std::span(infos, count), pipelines, [&](const auto *edited) {
      return device->next_create_execution_graph_pipelines(handle, cache, count, edited, allocator,
                                                           pipelines);
   });
}

} // namespace weft::layer
