// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute shaders: created, bound to buffers, run.

#pragma once

#include "tests/vulkan/buffer.h"
#include "tests/vulkan/descriptor.h"
#include "tests/vulkan/device.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::vulkan {

struct SpecConstant {
   uint32_t id, value;
};

struct PipelineOptions {
   /// Numbers of descriptors in bindings 0, 1, … of set 0.
   std::vector<uint32_t> bindings;
   /// The types of the bindings; all are storage buffers if it is empty.
   std::vector<VkDescriptorType> types;
   uint32_t push_bytes = 0;
   /// Required subgroup size with full subgroups, or 0.
   uint32_t subgroup_size = 0;
   std::vector<SpecConstant> spec_constants;
   /// Take it from a cache; otherwise the VulkanError is VK_PIPELINE_COMPILE_REQUIRED.
   bool only_cached = false;
};

struct Groups {
   uint32_t x = 1, y = 1, z = 1;
};

/// A compute shader that is ready to run.
class Pipeline {
public:
   Pipeline(Device &, std::span<const uint32_t> spirv, const PipelineOptions &);
   ~Pipeline();
   Pipeline(const Pipeline &) = delete;
   Pipeline &operator=(const Pipeline &) = delete;

   /// Waits for the end of `times` dispatches in one submission. The descriptors fill the array
   /// elements of the bindings in order.
   void dispatch_with(const std::vector<Descriptor> &, Groups groups = {},
                      std::span<const std::byte> push = {}, uint32_t times = 1);
   /// The same with buffers only.
   void dispatch(const std::vector<BufferRange> &buffers, Groups groups = {},
                 std::span<const std::byte> push = {}, uint32_t times = 1);
   template <typename T>
   void dispatch(const std::vector<BufferRange> &buffers, Groups groups, const T &push,
                 uint32_t times = 1)
   {
      dispatch(buffers, groups, std::as_bytes(std::span(&push, 1)), times);
   }
   /// Records a dispatch that never runs. Drivers may compile the shader for its first dispatch.
   void begin_compilation() const;

private:
   void create(std::span<const uint32_t> spirv);
   void create_layout();
   VkDescriptorType descriptor_type(uint32_t binding) const;
   VkResult create_pipeline(std::span<const uint32_t> spirv);
   VkResult create_shader_object(std::span<const uint32_t> spirv);
   void create_descriptors();
   void destroy();
   void write_descriptors(const std::vector<Descriptor> &);
   void bind(VkCommandBuffer) const;
   /// A finished command buffer.
   VkCommandBuffer record(Groups, std::span<const std::byte> push, uint32_t times) const;

   Device &device;
   PipelineOptions options;
   VkShaderModule module = VK_NULL_HANDLE;
   VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkPipeline pipeline = VK_NULL_HANDLE;
   VkShaderEXT shader = VK_NULL_HANDLE;
   VkDescriptorPool descriptor_pool = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
};

} // namespace weft::vulkan
