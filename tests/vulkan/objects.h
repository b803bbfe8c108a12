// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Short ways to create the objects of a compute program. A failed creation is a VulkanError. The
/// caller destroys the objects.

#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <span>
#include <vector>

namespace weft::vulkan {

struct DeviceRecipe {
   std::span<const char *const> extensions = {};
   const void *next = nullptr; ///< features
   uint32_t queue_family = 0;  ///< the first one with a queue
   uint32_t queues = 1;        ///< each of another family
   const VkAllocationCallbacks *allocator = nullptr;
};

VkResult try_device(VkPhysicalDevice, const DeviceRecipe &, VkDevice *);
VkDevice create_device(VkPhysicalDevice, const DeviceRecipe &);

/// Memory that is mapped for as long as it lives.
struct MappedMemory {
   VkDeviceMemory memory = VK_NULL_HANDLE;
   uint8_t *map = nullptr;
   VkDeviceSize size = 0; ///< of the resource

   template <typename T = uint32_t>
   std::span<T> as() const
   {
      return {reinterpret_cast<T *>(map), size_t(size) / sizeof(T)};
   }
};

struct MappedBuffer : MappedMemory {
   VkBuffer handle = VK_NULL_HANDLE;
};

/// If `addressable`, buffers in the memory may have addresses.
MappedMemory allocate_mapped(VkDevice, const VkMemoryRequirements &, uint32_t memory_type,
                             bool addressable = false);

VkBuffer create_buffer(VkDevice, VkDeviceSize, VkBufferUsageFlags);
VkMemoryRequirements requirements(VkDevice, VkBuffer);
/// Memory for a buffer, bound to it.
MappedBuffer bind_mapped(VkDevice, VkBuffer, VkDeviceSize, uint32_t memory_type,
                         bool addressable = false);
void destroy(VkDevice, const MappedBuffer &);

VkDescriptorSetLayoutBinding binding(uint32_t number, VkDescriptorType, uint32_t count = 1);
VkDescriptorSetLayout create_set_layout(VkDevice, std::span<const VkDescriptorSetLayoutBinding>,
                                        VkDescriptorSetLayoutCreateFlags = 0,
                                        const void *next = nullptr);
/// A pool for one set.
VkDescriptorPool create_descriptor_pool(VkDevice, std::span<const VkDescriptorPoolSize>,
                                        VkDescriptorPoolCreateFlags = 0,
                                        const void *next = nullptr);
VkDescriptorSet allocate_set(VkDevice, VkDescriptorPool, VkDescriptorSetLayout,
                             const void *next = nullptr);

VkPipelineLayout create_pipeline_layout(VkDevice, std::span<const VkDescriptorSetLayout>,
                                        VkPushConstantRange = {});
VkShaderModule create_shader_module(VkDevice, std::span<const uint32_t> spirv);

/// The main function of a module as a stage.
VkPipelineShaderStageCreateInfo compute_stage(VkShaderModule);
VkPipeline create_compute_pipeline(VkDevice, VkShaderModule, VkPipelineLayout);

VkCommandPool create_command_pool(VkDevice, uint32_t queue_family = 0,
                                  VkCommandPoolCreateFlags = 0);
/// A new command buffer that is being recorded.
VkCommandBuffer begin_commands(VkDevice, VkCommandPool, VkCommandBufferUsageFlags = 0,
                               VkCommandBufferLevel = VK_COMMAND_BUFFER_LEVEL_PRIMARY);
VkFence create_fence(VkDevice);
VkResult submit(VkQueue, VkCommandBuffer, VkFence = VK_NULL_HANDLE);
/// VK_TIMEOUT after `limit` nanoseconds: the fence, still in use, is then left.
VkResult submit_and_wait(VkDevice, VkQueue, VkCommandBuffer, uint64_t limit);

} // namespace weft::vulkan
