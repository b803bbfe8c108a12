// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/objects.h"

#include "tests/vulkan/result.h"

namespace weft::vulkan {

VkResult try_device(VkPhysicalDevice physical, const DeviceRecipe &recipe, VkDevice *device)
{
   const float priority = 1;
   std::vector<VkDeviceQueueCreateInfo> queues;
   for (uint32_t i = 0; i < recipe.queues; i++)
      queues.push_back({
         .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
         .queueFamilyIndex = recipe.queue_family + i,
         .queueCount = 1,
         .pQueuePriorities = &priority,
      });
   const VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .pNext = recipe.next,
      .queueCreateInfoCount = recipe.queues,
      .pQueueCreateInfos = queues.data(),
      .enabledExtensionCount = uint32_t(recipe.extensions.size()),
      .ppEnabledExtensionNames = recipe.extensions.data(),
   };
   return vkCreateDevice(physical, &info, recipe.allocator, device);
}

VkDevice create_device(VkPhysicalDevice physical, const DeviceRecipe &recipe)
{
   VkDevice device;
   check(try_device(physical, recipe, &device), "vkCreateDevice");
   return device;
}

MappedMemory allocate_mapped(VkDevice device, const VkMemoryRequirements &requirements,
                             uint32_t memory_type, bool addressable)
{
   const VkMemoryAllocateFlagsInfo flags = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
      .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
   };
   const VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = addressable ? &flags : nullptr,
      .allocationSize = requirements.size,
      .memoryTypeIndex = memory_type,
   };
   MappedMemory made = {.size = requirements.size};
   check(vkAllocateMemory(device, &info, nullptr, &made.memory), "vkAllocateMemory");
   void *map;
   const VkResult result = vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &map);
   if (result != VK_SUCCESS)
      vkFreeMemory(device, made.memory, nullptr);
   check(result, "vkMapMemory");
   made.map = static_cast<uint8_t *>(map);
   return made;
}

VkBuffer create_buffer(VkDevice device, VkDeviceSize size, VkBufferUsageFlags usage)
{
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = size,
      .usage = usage,
   };
   VkBuffer buffer;
   check(vkCreateBuffer(device, &info, nullptr, &buffer), "vkCreateBuffer");
   return buffer;
}

VkMemoryRequirements requirements(VkDevice device, VkBuffer buffer)
{
   VkMemoryRequirements needed;
   vkGetBufferMemoryRequirements(device, buffer, &needed);
   return needed;
}

MappedBuffer bind_mapped(VkDevice device, VkBuffer buffer, VkDeviceSize size, uint32_t memory_type,
                         bool addressable)
{
   MappedBuffer made = {
      allocate_mapped(device, requirements(device, buffer), memory_type, addressable), buffer};
   made.size = size;
   check(vkBindBufferMemory(device, buffer, made.memory, 0), "vkBindBufferMemory");
   return made;
}

void destroy(VkDevice device, const MappedBuffer &buffer)
{
   vkDestroyBuffer(device, buffer.handle, nullptr);
   vkFreeMemory(device, buffer.memory, nullptr);
}

VkDescriptorSetLayoutBinding binding(uint32_t number, VkDescriptorType type, uint32_t count)
{
   return {.binding = number,
           .descriptorType = type,
           .descriptorCount = count,
           .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
}

VkDescriptorSetLayout create_set_layout(VkDevice device,
                                        std::span<const VkDescriptorSetLayoutBinding> bindings,
                                        VkDescriptorSetLayoutCreateFlags flags, const void *next)
{
   const VkDescriptorSetLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .pNext = next,
      .flags = flags,
      .bindingCount = uint32_t(bindings.size()),
      .pBindings = bindings.data(),
   };
   VkDescriptorSetLayout layout;
   check(vkCreateDescriptorSetLayout(device, &info, nullptr, &layout),
         "vkCreateDescriptorSetLayout");
   return layout;
}

VkDescriptorPool create_descriptor_pool(VkDevice device,
                                        std::span<const VkDescriptorPoolSize> sizes,
                                        VkDescriptorPoolCreateFlags flags, const void *next)
{
   const VkDescriptorPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .pNext = next,
      .flags = flags,
      .maxSets = 1,
      .poolSizeCount = uint32_t(sizes.size()),
      .pPoolSizes = sizes.data(),
   };
   VkDescriptorPool pool;
   check(vkCreateDescriptorPool(device, &info, nullptr, &pool), "vkCreateDescriptorPool");
   return pool;
}

VkDescriptorSet allocate_set(VkDevice device, VkDescriptorPool pool, VkDescriptorSetLayout layout,
                             const void *next)
{
   const VkDescriptorSetAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
      .pNext = next,
      .descriptorPool = pool,
      .descriptorSetCount = 1,
      .pSetLayouts = &layout,
   };
   VkDescriptorSet set;
   check(vkAllocateDescriptorSets(device, &info, &set), "vkAllocateDescriptorSets");
   return set;
}

VkPipelineLayout create_pipeline_layout(VkDevice device,
                                        std::span<const VkDescriptorSetLayout> sets,
                                        VkPushConstantRange push)
{
   push.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
   const VkPipelineLayoutCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = uint32_t(sets.size()),
      .pSetLayouts = sets.data(),
      .pushConstantRangeCount = push.size ? 1u : 0u,
      .pPushConstantRanges = &push,
   };
   VkPipelineLayout layout;
   check(vkCreatePipelineLayout(device, &info, nullptr, &layout), "vkCreatePipelineLayout");
   return layout;
}

VkShaderModule create_shader_module(VkDevice device, std::span<const uint32_t> spirv)
{
   const VkShaderModuleCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = spirv.size_bytes(),
      .pCode = spirv.data(),
   };
   VkShaderModule module;
   check(vkCreateShaderModule(device, &info, nullptr, &module), "vkCreateShaderModule");
   return module;
}

VkPipelineShaderStageCreateInfo compute_stage(VkShaderModule module)
{
   return {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
      .module = module,
      .pName = "main",
   };
}

VkPipeline create_compute_pipeline(VkDevice device, VkShaderModule module, VkPipelineLayout layout)
{
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = compute_stage(module),
      .layout = layout,
   };
   VkPipeline pipeline;
   check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
         "vkCreateComputePipelines");
   return pipeline;
}

VkCommandPool create_command_pool(VkDevice device, uint32_t queue_family,
                                  VkCommandPoolCreateFlags flags)
{
   const VkCommandPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = flags,
      .queueFamilyIndex = queue_family,
   };
   VkCommandPool pool;
   check(vkCreateCommandPool(device, &info, nullptr, &pool), "vkCreateCommandPool");
   return pool;
}

VkCommandBuffer begin_commands(VkDevice device, VkCommandPool pool, VkCommandBufferUsageFlags flags,
                               VkCommandBufferLevel level)
{
   const VkCommandBufferAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = pool,
      .level = level,
      .commandBufferCount = 1,
   };
   VkCommandBuffer commands;
   check(vkAllocateCommandBuffers(device, &info, &commands), "vkAllocateCommandBuffers");
   const VkCommandBufferInheritanceInfo inheritance = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
   };
   const VkCommandBufferBeginInfo begin = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
      .flags = flags,
      .pInheritanceInfo = level == VK_COMMAND_BUFFER_LEVEL_SECONDARY ? &inheritance : nullptr,
   };
   check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
   return commands;
}

VkFence create_fence(VkDevice device)
{
   const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   VkFence fence;
   check(vkCreateFence(device, &info, nullptr, &fence), "vkCreateFence");
   return fence;
}

VkResult submit(VkQueue queue, VkCommandBuffer commands, VkFence fence)
{
   const VkSubmitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &commands,
   };
   return vkQueueSubmit(queue, 1, &info, fence);
}

VkResult submit_and_wait(VkDevice device, VkQueue queue, VkCommandBuffer commands, uint64_t limit)
{
   const VkFence fence = create_fence(device);
   VkResult result = submit(queue, commands, fence);
   if (result == VK_SUCCESS)
      result = vkWaitForFences(device, 1, &fence, VK_TRUE, limit);
   if (result != VK_TIMEOUT)
      vkDestroyFence(device, fence, nullptr);
   return result;
}

} // namespace weft::vulkan
