// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/descriptor_buffer_fixture.h"

#include <algorithm>

namespace weft::icd_test {

DescriptorBuffers::DescriptorBuffers(VkPhysicalDevice physical, VkDevice device) : device(device)
{
   const auto find = [&]<typename F>(F &function, const char *name) {
      function = reinterpret_cast<F>(vkGetDeviceProcAddr(device, name));
      ASSERT_NE(function, nullptr) << name;
   };
   find(layout_size, "vkGetDescriptorSetLayoutSizeEXT");
   find(binding_offset, "vkGetDescriptorSetLayoutBindingOffsetEXT");
   find(get_descriptor, "vkGetDescriptorEXT");
   find(bind_buffers, "vkCmdBindDescriptorBuffersEXT");
   find(set_buffer_offsets, "vkCmdSetDescriptorBufferOffsetsEXT");
   find(set_buffer_offsets_2, "vkCmdSetDescriptorBufferOffsets2EXT");
   find(bind_samplers, "vkCmdBindDescriptorBufferEmbeddedSamplersEXT");
   find(bind_samplers_2, "vkCmdBindDescriptorBufferEmbeddedSamplers2EXT");
   sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DESCRIPTOR_BUFFER_PROPERTIES_EXT;
   VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      .pNext = &sizes};
   vkGetPhysicalDeviceProperties2(physical, &all);
}

size_t DescriptorBuffers::size_of(VkDescriptorType type) const
{
   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      return sizes.samplerDescriptorSize;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
      return sizes.combinedImageSamplerDescriptorSize;
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
      return sizes.sampledImageDescriptorSize;
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      return sizes.storageImageDescriptorSize;
   case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER:
      return sizes.robustUniformTexelBufferDescriptorSize;
   case VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER:
      return sizes.robustStorageTexelBufferDescriptorSize;
   case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
      return sizes.robustUniformBufferDescriptorSize;
   default:
      return sizes.robustStorageBufferDescriptorSize;
   }
}

VkDeviceSize DescriptorBuffers::size_of(VkDescriptorSetLayout layout) const
{
   VkDeviceSize size = 0;
   layout_size(device, layout, &size);
   return size;
}

VkDeviceSize DescriptorBuffers::offset_of(VkDescriptorSetLayout layout, uint32_t binding) const
{
   VkDeviceSize offset = 0;
   binding_offset(device, layout, binding, &offset);
   return offset;
}

void DescriptorBuffers::get(VkDescriptorType type, const VkDescriptorDataEXT &data, uint8_t *place,
                            size_t size) const
{
   const VkDescriptorGetInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_GET_INFO_EXT,
      .type = type,
      .data = data,
   };
   get_descriptor(device, &info, size ? size : size_of(type), place);
}

void DescriptorBuffers::get_buffer(VkDescriptorType type, VkDeviceAddress address,
                                   VkDeviceSize range, uint8_t *place, VkFormat format) const
{
   const VkDescriptorAddressInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_ADDRESS_INFO_EXT,
      .address = address,
      .range = range,
      .format = format,
   };
   get(type, {.pStorageBuffer = &info}, place);
}

void DescriptorBuffers::bind(VkCommandBuffer cmd,
                             const std::vector<VkDeviceAddress> &addresses) const
{
   std::vector<VkDescriptorBufferBindingInfoEXT> infos;
   for (const VkDeviceAddress address : addresses)
      infos.push_back({
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_BUFFER_BINDING_INFO_EXT,
         .address = address,
         .usage = descriptor_buffer_usage,
      });
   bind_buffers(cmd, uint32_t(infos.size()), infos.data());
}

void DescriptorBuffers::set_offsets(VkCommandBuffer cmd, VkPipelineLayout layout, uint32_t first,
                                    const std::vector<uint32_t> &indices,
                                    const std::vector<VkDeviceSize> &offsets) const
{
   set_buffer_offsets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, first, uint32_t(indices.size()),
                      indices.data(), offsets.data());
}

void DescriptorBufferFixture::SetUp()
{
   KindsTest::SetUp();
   buffers = DescriptorBuffers(physical, device);
   const PipelineRecipe recipe = {.push_bytes = 20};
   copy_layout = make_layout(recipe);
   copy_pipeline = make_pipeline(R"(
      layout(local_size_x = 64) in;
      layout(buffer_reference, std430) buffer Words { uint w[]; };
      layout(push_constant) uniform Push { Words from, to; uint count; };
      void main()
      {
         for (uint i = gl_LocalInvocationIndex; i < count; i += 64)
            to.w[i] = from.w[i];
      })",
                                 recipe, copy_layout);
}

VkDeviceAddress DescriptorBufferFixture::address_of(const TestBuffer &buffer) const
{
   const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = buffer.handle};
   return vkGetBufferDeviceAddress(device, &info);
}

TestBuffer DescriptorBufferFixture::make_descriptor_buffer(VkDeviceSize size)
{
   const VkBuffer handle =
      vulkan::create_buffer(device, size,
                            descriptor_buffer_usage | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
   const TestBuffer buffer = vulkan::bind_mapped(device, handle, size, 0, true);
   clean_up.push_back([this, buffer] { vulkan::destroy(device, buffer); });
   std::ranges::fill(buffer.as<uint8_t>(), uint8_t(0xa5));
   return buffer;
}

VkDescriptorSetLayout DescriptorBufferFixture::make_buffer_layout(
   const std::vector<VkDescriptorSetLayoutBinding> &bindings,
   VkDescriptorSetLayoutCreateFlags flags, const void *next)
{
   return make_set_layout(bindings,
                          flags | VK_DESCRIPTOR_SET_LAYOUT_CREATE_DESCRIPTOR_BUFFER_BIT_EXT, next);
}

VkPipeline DescriptorBufferFixture::make_buffer_pipeline(const std::string &glsl,
                                                         PipelineRecipe recipe,
                                                         VkPipelineLayout layout)
{
   recipe.flags |= VK_PIPELINE_CREATE_DESCRIPTOR_BUFFER_BIT_EXT;
   return make_pipeline(glsl, recipe, layout);
}

void DescriptorBufferFixture::put(VkDescriptorType type, const Resource &resource, uint8_t *place)
{
   const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                           .buffer = resource.buffer.buffer};
   switch (type) {
   case VK_DESCRIPTOR_TYPE_SAMPLER:
      buffers.get(type, {.pSampler = &resource.image.sampler}, place);
      break;
   case VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER:
   case VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE:
   case VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
      buffers.get(type, {.pSampledImage = &resource.image}, place);
      break;
   default:
      buffers.get_buffer(type, vkGetBufferDeviceAddress(device, &info), 16, place,
                         VK_FORMAT_R32_SFLOAT);
      break;
   }
}

void DescriptorBufferFixture::put_buffer(VkDescriptorSetLayout layout, uint8_t *set,
                                         uint32_t binding, VkDescriptorType type,
                                         const TestBuffer &buffer, uint32_t element)
{
   buffers.get_buffer(type, address_of(buffer), buffer.size,
                      place_of(layout, set, binding, type, element));
}

uint8_t *DescriptorBufferFixture::place_of(VkDescriptorSetLayout layout, uint8_t *set,
                                           uint32_t binding, VkDescriptorType type,
                                           uint32_t element) const
{
   return set + buffers.offset_of(layout, binding) + element * buffers.size_of(type);
}

void DescriptorBufferFixture::run_with(const TestBuffer &descriptors, VkPipelineLayout layout,
                                       VkPipeline pipeline)
{
   VkCommandBuffer cmd = begin();
   buffers.bind(cmd, {address_of(descriptors)});
   buffers.set_offsets(cmd, layout, 0, {0}, {0});
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
}

void DescriptorBufferFixture::barrier(VkCommandBuffer cmd)
{
   const VkMemoryBarrier2 memory = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      .dstAccessMask = VK_ACCESS_2_DESCRIPTOR_BUFFER_READ_BIT_EXT | VK_ACCESS_2_MEMORY_READ_BIT |
                       VK_ACCESS_2_MEMORY_WRITE_BIT,
   };
   const VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                  .memoryBarrierCount = 1,
                                  .pMemoryBarriers = &memory};
   vkCmdPipelineBarrier2(cmd, &info);
}

void DescriptorBufferFixture::copy_by_shader(VkCommandBuffer cmd, VkDeviceAddress from,
                                             VkDeviceAddress to, uint32_t bytes)
{
   struct {
      VkDeviceAddress from, to;
      uint32_t count;
   } const push = {from, to, bytes / 4};
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, copy_pipeline);
   vkCmdPushConstants(cmd, copy_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 20, &push);
   vkCmdDispatch(cmd, 1, 1, 1);
}

} // namespace weft::icd_test
