// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/pipeline.h"

#include "tests/vulkan/hooks.h"
#include "tests/vulkan/objects.h"
#include "tests/vulkan/result.h"

#include <cstddef>
#include <stdexcept>

namespace weft::vulkan {

Pipeline::Pipeline(Device &device, std::span<const uint32_t> spirv, const PipelineOptions &options)
    : device(device), options(options)
{
   device.creating = &this->options;
   try {
      create(spirv);
   } catch (...) {
      device.creating = nullptr;
      destroy();
      throw;
   }
   device.creating = nullptr;
}

Pipeline::~Pipeline()
{
   destroy();
}

template <typename Function>
static Function device_function(const Device &device, const char *name)
{
   const auto function = reinterpret_cast<Function>(vkGetDeviceProcAddr(device.device, name));
   if (!function)
      throw VulkanError(VK_ERROR_EXTENSION_NOT_PRESENT, name);
   return function;
}

void Pipeline::destroy()
{
   vkDestroyDescriptorPool(device.device, descriptor_pool, nullptr);
   if (shader)
      device_function<PFN_vkDestroyShaderEXT>(device, "vkDestroyShaderEXT")(device.device, shader,
                                                                            nullptr);
   vkDestroyPipeline(device.device, pipeline, nullptr);
   vkDestroyPipelineLayout(device.device, layout, nullptr);
   vkDestroyDescriptorSetLayout(device.device, set_layout, nullptr);
   vkDestroyShaderModule(device.device, module, nullptr);
}

void Pipeline::create(std::span<const uint32_t> spirv)
{
   std::vector<uint32_t> changed, lowered;
   if (change_module) {
      changed = change_module(spirv);
      spirv = changed;
   }
   if (preprocessor) {
      lowered = preprocessor->lower(device, spirv, options);
      spirv = lowered;
   }
   create_layout();
   device.take_messages();
   const bool object = device.shader_kind == ShaderKind::object;
   const VkResult result = object ? create_shader_object(spirv) : create_pipeline(spirv);
   if (result != VK_SUCCESS)
      throw VulkanError(result, object ? "vkCreateShadersEXT" : "vkCreateComputePipelines",
                        device.take_messages());
   create_descriptors();
}

VkDescriptorType Pipeline::descriptor_type(uint32_t binding) const
{
   return options.types.empty() ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : options.types[binding];
}

void Pipeline::create_layout()
{
   std::vector<VkDescriptorSetLayoutBinding> bindings;
   for (const uint32_t count : options.bindings) {
      const auto number = uint32_t(bindings.size());
      bindings.push_back(binding(number, descriptor_type(number), count));
   }
   set_layout = create_set_layout(device.device, bindings);
   layout = create_pipeline_layout(device.device, {&set_layout, 1}, {.size = options.push_bytes});
}

namespace {

/// The part of a create info that pipelines and shader objects share.
struct Stage {
   Stage(const Device &device, const PipelineOptions &options)
       : constants(options.spec_constants),
         requires_size(options.subgroup_size && device.can_require_subgroup_size())
   {
      for (uint32_t i = 0; i < constants.size(); i++) {
         entries.push_back(
            {.constantID = constants[i].id,
             .offset = uint32_t(i * sizeof(SpecConstant) + offsetof(SpecConstant, value)),
             .size = sizeof(constants[i].value)});
      }
      specialization = {uint32_t(entries.size()), entries.data(),
                        constants.size() * sizeof(SpecConstant), constants.data()};
      size = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
              .requiredSubgroupSize = options.subgroup_size};
   }
   Stage(const Stage &) = delete;
   Stage &operator=(const Stage &) = delete;

   const std::vector<SpecConstant> &constants;
   const bool requires_size;
   std::vector<VkSpecializationMapEntry> entries;
   VkSpecializationInfo specialization;
   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
};

} // namespace

VkResult Pipeline::create_pipeline(std::span<const uint32_t> spirv)
{
   try {
      module = create_shader_module(device.device, spirv);
   } catch (const VulkanError &error) {
      throw VulkanError(error.result, "vkCreateShaderModule", device.take_messages());
   }
   const Stage stage(device, options);
   VkPipelineShaderStageCreateInfo pipeline_stage = compute_stage(module);
   pipeline_stage.pSpecializationInfo = &stage.specialization;
   if (stage.requires_size) {
      pipeline_stage.pNext = &stage.size;
      pipeline_stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
   }
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = options.only_cached
                  ? VkPipelineCreateFlags(VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT)
                  : 0,
      .stage = pipeline_stage,
      .layout = layout,
   };
   return vkCreateComputePipelines(device.device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline);
}

VkResult Pipeline::create_shader_object(std::span<const uint32_t> spirv)
{
   const Stage stage(device, options);
   const VkShaderCreateFlagsEXT full = VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT;
   const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                                     .size = options.push_bytes};
   const VkShaderCreateInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_CREATE_INFO_EXT,
      .pNext = stage.requires_size ? &stage.size : nullptr,
      .flags = stage.requires_size ? full : 0,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
      .codeType = VK_SHADER_CODE_TYPE_SPIRV_EXT,
      .codeSize = spirv.size_bytes(),
      .pCode = spirv.data(),
      .pName = "main",
      .setLayoutCount = 1,
      .pSetLayouts = &set_layout,
      .pushConstantRangeCount = options.push_bytes ? 1u : 0u,
      .pPushConstantRanges = &push,
      .pSpecializationInfo = &stage.specialization,
   };
   return device_function<PFN_vkCreateShadersEXT>(device, "vkCreateShadersEXT")(
      device.device, 1, &info, nullptr, &shader);
}

void Pipeline::create_descriptors()
{
   std::vector<VkDescriptorPoolSize> sizes;
   for (uint32_t binding = 0; binding < options.bindings.size(); binding++) {
      if (const uint32_t count = options.bindings[binding])
         sizes.push_back({descriptor_type(binding), count});
   }
   if (sizes.empty())
      sizes.push_back({VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1});
   descriptor_pool = create_descriptor_pool(device.device, sizes);
   set = allocate_set(device.device, descriptor_pool, set_layout);
}

void Pipeline::write_descriptors(const std::vector<Descriptor> &descriptors)
{
   size_t next = 0;
   for (uint32_t binding = 0; binding < options.bindings.size(); binding++) {
      for (uint32_t element = 0; element < options.bindings[binding]; element++) {
         if (next == descriptors.size())
            throw std::logic_error("fewer descriptors than the bindings have");
         write_descriptor(device.device, set, binding, descriptor_type(binding),
                          descriptors[next++], element);
      }
   }
}

void Pipeline::bind(VkCommandBuffer commands) const
{
   if (device.shader_kind == ShaderKind::pipeline) {
      vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      return;
   }
   const VkShaderStageFlagBits stage = VK_SHADER_STAGE_COMPUTE_BIT;
   device_function<PFN_vkCmdBindShadersEXT>(device, "vkCmdBindShadersEXT")(commands, 1, &stage,
                                                                           &shader);
}

VkCommandBuffer Pipeline::record(Groups groups, std::span<const std::byte> push,
                                 uint32_t times) const
{
   const VkCommandBuffer commands =
      begin_commands(device.device, device.pool, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT);
   bind(commands);
   if (!options.bindings.empty())
      vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                              nullptr);
   if (!push.empty())
      vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, uint32_t(push.size()),
                         push.data());
   const auto barrier = [&](VkPipelineStageFlags stage, VkAccessFlags access) {
      const VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                      .dstAccessMask = access};
      vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, stage, 0, 1, &memory, 0,
                           nullptr, 0, nullptr);
   };
   for (uint32_t i = 0; i < times; i++) {
      if (i > 0)
         barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
      vkCmdDispatch(commands, groups.x, groups.y, groups.z);
   }
   barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
   check(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
   return commands;
}

void Pipeline::dispatch(const std::vector<BufferRange> &buffers, Groups groups,
                        std::span<const std::byte> push, uint32_t times)
{
   std::vector<Descriptor> descriptors;
   for (const BufferRange &range : buffers)
      descriptors.push_back({.buffer = {range.buffer->handle(), range.offset, range.size}});
   dispatch_with(descriptors, groups, push, times);
}

void Pipeline::dispatch_with(const std::vector<Descriptor> &descriptors, Groups groups,
                             std::span<const std::byte> push, uint32_t times)
{
   write_descriptors(descriptors);
   device.run(record(groups, push, times));
}

void Pipeline::begin_compilation() const
{
   const VkCommandBuffer commands = record({}, {}, 1);
   vkFreeCommandBuffers(device.device, device.pool, 1, &commands);
}

} // namespace weft::vulkan
