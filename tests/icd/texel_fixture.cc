// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/texel_fixture.h"

#include "tests/vulkan/descriptor.h"

#include <cstring>

namespace weft::icd_test {

#define FORMAT(name) VK_FORMAT_##name, #name

const std::vector<Format> &texel_formats()
{
   static const std::vector<Format> formats = {
      {FORMAT(R4G4_UNORM_PACK8)},
      {FORMAT(R4G4B4A4_UNORM_PACK16)},
      {FORMAT(B4G4R4A4_UNORM_PACK16)},
      {FORMAT(A4R4G4B4_UNORM_PACK16)},
      {FORMAT(A4B4G4R4_UNORM_PACK16)},
      {FORMAT(R5G6B5_UNORM_PACK16)},
      {FORMAT(B5G6R5_UNORM_PACK16)},
      {FORMAT(R5G5B5A1_UNORM_PACK16)},
      {FORMAT(B5G5R5A1_UNORM_PACK16)},
      {FORMAT(A1R5G5B5_UNORM_PACK16)},
      {FORMAT(R8_UNORM), fetches},
      {FORMAT(R8_SNORM), fetches},
      {FORMAT(R8_USCALED)},
      {FORMAT(R8_SSCALED)},
      {FORMAT(R8_UINT), fetches},
      {FORMAT(R8_SINT), fetches},
      {FORMAT(R8G8_UNORM), fetches},
      {FORMAT(R8G8_SNORM), fetches},
      {FORMAT(R8G8_USCALED)},
      {FORMAT(R8G8_SSCALED)},
      {FORMAT(R8G8_UINT), fetches},
      {FORMAT(R8G8_SINT), fetches},
      {FORMAT(R8G8B8A8_UNORM), stores, "rgba8"},
      {FORMAT(R8G8B8A8_SNORM), stores, "rgba8_snorm"},
      {FORMAT(R8G8B8A8_USCALED)},
      {FORMAT(R8G8B8A8_SSCALED)},
      {FORMAT(R8G8B8A8_UINT), stores, "rgba8ui"},
      {FORMAT(R8G8B8A8_SINT), stores, "rgba8i"},
      {FORMAT(B8G8R8A8_UNORM), fetches},
      {FORMAT(B8G8R8A8_SNORM)},
      {FORMAT(B8G8R8A8_USCALED)},
      {FORMAT(B8G8R8A8_SSCALED)},
      {FORMAT(B8G8R8A8_UINT)},
      {FORMAT(B8G8R8A8_SINT)},
      {FORMAT(A8B8G8R8_UNORM_PACK32), stores},
      {FORMAT(A8B8G8R8_SNORM_PACK32), stores},
      {FORMAT(A8B8G8R8_USCALED_PACK32)},
      {FORMAT(A8B8G8R8_SSCALED_PACK32)},
      {FORMAT(A8B8G8R8_UINT_PACK32), stores},
      {FORMAT(A8B8G8R8_SINT_PACK32), stores},
      {FORMAT(A2R10G10B10_UNORM_PACK32)},
      {FORMAT(A2R10G10B10_SNORM_PACK32)},
      {FORMAT(A2R10G10B10_USCALED_PACK32)},
      {FORMAT(A2R10G10B10_SSCALED_PACK32)},
      {FORMAT(A2R10G10B10_UINT_PACK32)},
      {FORMAT(A2R10G10B10_SINT_PACK32)},
      {FORMAT(A2B10G10R10_UNORM_PACK32), fetches},
      {FORMAT(A2B10G10R10_SNORM_PACK32)},
      {FORMAT(A2B10G10R10_USCALED_PACK32)},
      {FORMAT(A2B10G10R10_SSCALED_PACK32)},
      {FORMAT(A2B10G10R10_UINT_PACK32), fetches},
      {FORMAT(A2B10G10R10_SINT_PACK32)},
      {FORMAT(R16_UNORM)},
      {FORMAT(R16_SNORM)},
      {FORMAT(R16_USCALED)},
      {FORMAT(R16_SSCALED)},
      {FORMAT(R16_UINT), fetches},
      {FORMAT(R16_SINT), fetches},
      {FORMAT(R16_SFLOAT), fetches},
      {FORMAT(R16G16_UNORM)},
      {FORMAT(R16G16_SNORM)},
      {FORMAT(R16G16_USCALED)},
      {FORMAT(R16G16_SSCALED)},
      {FORMAT(R16G16_UINT), fetches},
      {FORMAT(R16G16_SINT), fetches},
      {FORMAT(R16G16_SFLOAT), fetches},
      {FORMAT(R16G16B16A16_UNORM)},
      {FORMAT(R16G16B16A16_SNORM)},
      {FORMAT(R16G16B16A16_USCALED)},
      {FORMAT(R16G16B16A16_SSCALED)},
      {FORMAT(R16G16B16A16_UINT), stores, "rgba16ui"},
      {FORMAT(R16G16B16A16_SINT), stores, "rgba16i"},
      {FORMAT(R16G16B16A16_SFLOAT), stores, "rgba16f"},
      {FORMAT(R32_UINT), stores, "r32ui"},
      {FORMAT(R32_SINT), stores, "r32i"},
      {FORMAT(R32_SFLOAT), stores, "r32f"},
      {FORMAT(R32G32_UINT), stores},
      {FORMAT(R32G32_SINT), stores},
      {FORMAT(R32G32_SFLOAT), stores},
      {FORMAT(R32G32B32_UINT)},
      {FORMAT(R32G32B32_SINT)},
      {FORMAT(R32G32B32_SFLOAT)},
      {FORMAT(R32G32B32A32_UINT), stores, "rgba32ui"},
      {FORMAT(R32G32B32A32_SINT), stores, "rgba32i"},
      {FORMAT(R32G32B32A32_SFLOAT), stores, "rgba32f"},
      {FORMAT(B10G11R11_UFLOAT_PACK32), fetches},
   };
   return formats;
}

bool Format::has(char component) const
{
   return is_compressed() ? blocks().components.find(component) != std::string::npos
                          : layout().find(component) != nullptr;
}

const char *Format::prefix() const
{
   if (is_compressed())
      return "";
   switch (layout().kind) {
   case oracle::TexelKind::uint:
      return "u";
   case oracle::TexelKind::sint:
      return "i";
   default:
      return "";
   }
}

VkFormatFeatureFlags buffer_features(VkPhysicalDevice physical, VkFormat format)
{
   VkFormatProperties properties;
   vkGetPhysicalDeviceFormatProperties(physical, format, &properties);
   return properties.bufferFeatures;
}

TestBuffer TexelTest::make_random_buffer(VkDeviceSize size)
{
   const TestBuffer buffer = make_buffer(size);
   for (uint8_t &byte : buffer.as<uint8_t>())
      byte = uint8_t(random());
   return buffer;
}

VkBufferView TexelTest::make_view(const TestBuffer &buffer, VkFormat format, VkDeviceSize offset,
                                  VkDeviceSize range)
{
   return make_texel_view(buffer.handle, format, offset, range);
}

void TexelTest::write_texels(VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                             VkBufferView view, uint32_t element)
{
   vulkan::write_descriptor(device, set, binding, type, {.texels = view}, element);
}

TexelTest::Program TexelTest::make_program(const std::string &glsl, VkDescriptorType texels,
                                           uint32_t buffers, const void *stage_next)
{
   std::vector<VkDescriptorSetLayoutBinding> bindings = {binding(0, texels)};
   for (uint32_t i = 0; i < buffers; ++i)
      bindings.push_back(binding(i + 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER));
   PipelineRecipe recipe;
   recipe.stage_next = stage_next;
   recipe.sets = {make_set_layout(bindings)};
   VkPipelineLayout layout = make_layout(recipe);
   return {layout, recipe.sets[0], make_pipeline(glsl, recipe, layout), texels};
}

void TexelTest::run_program(const Program &program, VkBufferView view,
                            const std::vector<TestBuffer> &buffers, uint32_t groups)
{
   VkDescriptorSet set = make_set(program.set_layout);
   write_texels(set, 0, program.texels, view);
   for (uint32_t i = 0; i < buffers.size(); ++i)
      write_buffer(set, i + 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers[i]);
   bind_and_run(program.layout, program.pipeline, set, groups);
}

void TexelTest::bind_and_run(VkPipelineLayout layout, VkPipeline pipeline, VkDescriptorSet set,
                             uint32_t groups)
{
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, groups, 1, 1);
   run(cmd);
}

} // namespace weft::icd_test
