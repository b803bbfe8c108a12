// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_descriptor_buffer: descriptors in buffers that the host and shaders write.

#pragma once

#include "tests/icd/descriptor_kinds.h"

#include <string>
#include <vector>

namespace weft::icd_test {

constexpr VkBufferUsageFlags descriptor_buffer_usage =
   VK_BUFFER_USAGE_RESOURCE_DESCRIPTOR_BUFFER_BIT_EXT |
   VK_BUFFER_USAGE_SAMPLER_DESCRIPTOR_BUFFER_BIT_EXT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;

/// The extension's commands and sizes.
class DescriptorBuffers {
public:
   DescriptorBuffers() = default;
   DescriptorBuffers(VkPhysicalDevice, VkDevice);

   const VkPhysicalDeviceDescriptorBufferPropertiesEXT &properties() const { return sizes; }
   size_t size_of(VkDescriptorType) const;
   VkDeviceSize size_of(VkDescriptorSetLayout) const;
   VkDeviceSize offset_of(VkDescriptorSetLayout, uint32_t binding) const;

   /// Writes a descriptor of a type, or of `size` bytes.
   void get(VkDescriptorType, const VkDescriptorDataEXT &, uint8_t *place, size_t size = 0) const;
   void get_buffer(VkDescriptorType, VkDeviceAddress, VkDeviceSize range, uint8_t *place,
                   VkFormat = VK_FORMAT_UNDEFINED) const;

   void bind(VkCommandBuffer, const std::vector<VkDeviceAddress> &) const;
   void set_offsets(VkCommandBuffer, VkPipelineLayout, uint32_t first,
                    const std::vector<uint32_t> &buffers,
                    const std::vector<VkDeviceSize> &offsets) const;

   PFN_vkGetDescriptorSetLayoutSizeEXT layout_size;
   PFN_vkGetDescriptorSetLayoutBindingOffsetEXT binding_offset;
   PFN_vkGetDescriptorEXT get_descriptor;
   PFN_vkCmdBindDescriptorBuffersEXT bind_buffers;
   PFN_vkCmdSetDescriptorBufferOffsetsEXT set_buffer_offsets;
   PFN_vkCmdSetDescriptorBufferOffsets2EXT set_buffer_offsets_2;
   PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT bind_samplers;
   PFN_vkCmdBindDescriptorBufferEmbeddedSamplers2EXT bind_samplers_2;

private:
   VkDevice device = VK_NULL_HANDLE;
   VkPhysicalDeviceDescriptorBufferPropertiesEXT sizes = {};
};

class DescriptorBufferFixture : public KindsTest {
protected:
   void SetUp() override;

   VkDeviceAddress address_of(const TestBuffer &) const;
   /// A buffer for descriptors, poisoned.
   TestBuffer make_descriptor_buffer(VkDeviceSize size);
   VkDescriptorSetLayout make_buffer_layout(const std::vector<VkDescriptorSetLayoutBinding> &,
                                            VkDescriptorSetLayoutCreateFlags flags = 0,
                                            const void *next = nullptr);
   /// A pipeline for descriptor buffers.
   VkPipeline make_buffer_pipeline(const std::string &glsl, PipelineRecipe, VkPipelineLayout);

   /// Writes the descriptor of a resource.
   void put(VkDescriptorType, const Resource &, uint8_t *place);
   /// Writes the descriptor of a whole buffer to a binding of a set.
   void put_buffer(VkDescriptorSetLayout, uint8_t *set, uint32_t binding, VkDescriptorType,
                   const TestBuffer &, uint32_t element = 0);
   uint8_t *place_of(VkDescriptorSetLayout, uint8_t *set, uint32_t binding, VkDescriptorType,
                     uint32_t element = 0) const;

   /// Runs a workgroup whose set 0 begins with the descriptor buffer.
   void run_with(const TestBuffer &descriptors, VkPipelineLayout, VkPipeline);

   /// Makes the writes of shaders and copies visible to later commands and their descriptors.
   static void barrier(VkCommandBuffer);
   /// Copies words from one address to another by a shader.
   void copy_by_shader(VkCommandBuffer, VkDeviceAddress from, VkDeviceAddress to, uint32_t bytes);

   DescriptorBuffers buffers;

private:
   VkPipelineLayout copy_layout = VK_NULL_HANDLE;
   VkPipeline copy_pipeline = VK_NULL_HANDLE;
};

} // namespace weft::icd_test
