// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_maintenance8. blit_test.cc blits slices of volumes to and from layers.

#include "tests/icd/pipeline_fixture.h"
#include "tests/icd/sampling_fixture.h"
#include "tests/spirv/assemble.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr VkImageAspectFlags depth = VK_IMAGE_ASPECT_DEPTH_BIT,
                             stencil = VK_IMAGE_ASPECT_STENCIL_BIT;

/// An aspect of depths or stencils, and the colors that it becomes in a copy.
struct CopyPair {
   VkFormat format;
   VkImageAspectFlags aspect;
   uint32_t bytes, defined_bytes;
   std::vector<VkFormat> colors;
};

const std::vector<VkFormat> colors8 = {VK_FORMAT_R8_UINT, VK_FORMAT_R8_SINT, VK_FORMAT_R8_UNORM,
                                       VK_FORMAT_R8_SNORM},
                            colors16 = {VK_FORMAT_R16_SFLOAT, VK_FORMAT_R16_UNORM,
                                        VK_FORMAT_R16_SNORM, VK_FORMAT_R16_UINT,
                                        VK_FORMAT_R16_SINT},
                            colors32 = {VK_FORMAT_R32_SFLOAT, VK_FORMAT_R32_SINT,
                                        VK_FORMAT_R32_UINT};

/// Vulkan, "Compatible Formats for Depth-Stencil to/from Color Copies".
const CopyPair copy_pairs[] = {
   {VK_FORMAT_D32_SFLOAT, depth, 4, 4, colors32},
   {VK_FORMAT_D32_SFLOAT_S8_UINT, depth, 4, 4, colors32},
   {VK_FORMAT_X8_D24_UNORM_PACK32, depth, 4, 3, colors32},
   {VK_FORMAT_D24_UNORM_S8_UINT, depth, 4, 3, colors32},
   {VK_FORMAT_D16_UNORM, depth, 2, 2, colors16},
   {VK_FORMAT_D16_UNORM_S8_UINT, depth, 2, 2, colors16},
   {VK_FORMAT_S8_UINT, stencil, 1, 1, colors8},
   {VK_FORMAT_D16_UNORM_S8_UINT, stencil, 1, 1, colors8},
   {VK_FORMAT_D24_UNORM_S8_UINT, stencil, 1, 1, colors8},
   {VK_FORMAT_D32_SFLOAT_S8_UINT, stencil, 1, 1, colors8},
};

/// Signed remainders of `width` bits, as SPIR-V: of data[i] and data[16 + i], then of data[i] and
/// each constant.
std::string remainders(int width, const std::vector<int> &divisors)
{
   const std::string bits = std::to_string(width), bytes = std::to_string(width / 8);
   std::string constants, code;
   int row = 2;
   const auto add_row = [&](const char *op, const std::string &divisor) {
      const std::string r = std::to_string(row++);
      constants += "%first" + r + " = OpConstant %uint " + std::to_string(16 * (row - 1)) + "\n";
      code += "%value" + r + " = " + op + " %number %x " + divisor + "\n%at" + r +
              " = OpIAdd %uint %i %first" + r + "\n%to" + r +
              " = OpAccessChain %pointer %out %c0 %at" + r + "\nOpStore %to" + r + " %value" + r +
              "\n";
   };
   for (const char *op : {"OpSRem", "OpSMod"})
      add_row(op, "%y");
   for (size_t d = 0; d < divisors.size(); ++d) {
      const std::string name = "%divisor" + std::to_string(d);
      constants += name + " = OpConstant %number " + std::to_string(divisors[d]) + "\n";
      for (const char *op : {"OpSRem", "OpSMod"})
         add_row(op, name);
   }
   std::string capabilities;
   if (width == 8)
      capabilities = "OpCapability Int8\nOpCapability StorageBuffer8BitAccess\n";
   if (width == 16)
      capabilities = "OpCapability Int16\nOpCapability StorageBuffer16BitAccess\n";
   if (width == 64)
      capabilities = "OpCapability Int64\n";
   const std::string number_type =
      width == 32 ? "%number = OpTypeInt 32 1\n" : "%number = OpTypeInt " + bits + " 1\n";
   return "OpCapability Shader\n" + capabilities + R"(
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main" %out %index
      OpExecutionMode %main LocalSize 16 1 1
      OpDecorate %index BuiltIn LocalInvocationIndex
      OpDecorate %out DescriptorSet 0
      OpDecorate %out Binding 0
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpDecorate %array ArrayStride )" +
          bytes + R"(
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      )" + number_type +
          R"(
      %c0 = OpConstant %uint 0
      %c16 = OpConstant %uint 16
      )" + constants +
          R"(
      %array = OpTypeRuntimeArray %number
      %block = OpTypeStruct %array
      %block_pointer = OpTypePointer StorageBuffer %block
      %pointer = OpTypePointer StorageBuffer %number
      %input_pointer = OpTypePointer Input %uint
      %out = OpVariable %block_pointer StorageBuffer
      %index = OpVariable %input_pointer Input
      %main = OpFunction %void None %function
      %entry = OpLabel
      %i = OpLoad %uint %index
      %x_place = OpAccessChain %pointer %out %c0 %i
      %x = OpLoad %number %x_place
      %second = OpIAdd %uint %i %c16
      %y_place = OpAccessChain %pointer %out %c0 %second
      %y = OpLoad %number %y_place
      )" + code +
          "OpReturn\nOpFunctionEnd";
}

using Maintenance8Test = SamplingTest;
/// With WEFT_QUEUE=graphics.
using DepthCopyTest = SamplingTest;

} // namespace

TEST_F(DepthCopyTest, DepthsAndStencilsBecomeColors)
{
   const VkExtent3D extent = {13, 6, 1};
   for (const CopyPair &pair : copy_pairs) {
      for (const VkFormat color : pair.colors) {
         for (const bool by_host : {false, true}) {
            const auto make = [&](VkFormat format) {
               return make_image(
                  {.format = format,
                   .extent = extent,
                   .layers = 2,
                   .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_HOST_TRANSFER_BIT_EXT});
            };
            const TestImage first = make(pair.format), middle = make(color),
                            last = make(pair.format);
            const uint32_t count = extent.width * extent.height * 2;
            const TestBuffer before = make_random_buffer(count * pair.bytes),
                             colors = make_buffer(count * pair.bytes),
                             after = make_buffer(count * pair.bytes);
            const VkBufferImageCopy whole = {.imageSubresource = {pair.aspect, 0, 0, 2},
                                             .imageExtent = extent},
                                    whole_color = whole_level(middle);
            const VkImageCopy there = {.srcSubresource = {pair.aspect, 0, 0, 2},
                                       .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2},
                                       .extent = extent},
                              back = {.srcSubresource = there.dstSubresource,
                                      .dstSubresource = there.srcSubresource,
                                      .extent = extent};
            VkCommandBuffer cmd = begin();
            vkCmdCopyBufferToImage(cmd, before.handle, first.handle, general, 1, &whole);
            if (by_host) {
               run(cmd);
               const auto copy = [&](const TestImage &from, const TestImage &to,
                                     const VkImageCopy &region) {
                  const VkImageCopy2 part = {.sType = VK_STRUCTURE_TYPE_IMAGE_COPY_2,
                                             .srcSubresource = region.srcSubresource,
                                             .dstSubresource = region.dstSubresource,
                                             .extent = region.extent};
                  const VkCopyImageToImageInfoEXT info = {
                     .sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_IMAGE_INFO_EXT,
                     .srcImage = from.handle,
                     .srcImageLayout = general,
                     .dstImage = to.handle,
                     .dstImageLayout = general,
                     .regionCount = 1,
                     .pRegions = &part};
                  ASSERT_VK(device_function<PFN_vkCopyImageToImageEXT>("vkCopyImageToImageEXT")(
                     device, &info));
               };
               copy(first, middle, there);
               copy(middle, last, back);
               cmd = begin();
            } else {
               vkCmdCopyImage(cmd, first.handle, general, middle.handle, general, 1, &there);
               vkCmdCopyImage(cmd, middle.handle, general, last.handle, general, 1, &back);
            }
            vkCmdCopyImageToBuffer(cmd, middle.handle, general, colors.handle, 1, &whole_color);
            vkCmdCopyImageToBuffer(cmd, last.handle, general, after.handle, 1, &whole);
            run(cmd);
            for (uint32_t i = 0; i < count; ++i) {
               const auto same = [&](const TestBuffer &result) {
                  return memcmp(result.map + i * pair.bytes, before.map + i * pair.bytes,
                                pair.defined_bytes) == 0;
               };
               ASSERT_TRUE(same(colors)) << pair.format << " to " << color << ", texel " << i;
               ASSERT_TRUE(same(after)) << color << " to " << pair.format << ", texel " << i;
            }
         }
      }
   }
}

/// Offsets that differ between invocations.
TEST_F(Maintenance8Test, OffsetsOfSampling)
{
   constexpr uint32_t size = 16, count = 64;
   const TestImage image = make_image({.format = VK_FORMAT_R32_SFLOAT,
                                       .extent = {size, size, 1},
                                       .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   TestBuffer numbers = make_buffer(size * size * 4);
   for (uint32_t i = 0; i < size * size; ++i)
      numbers.as<float>()[i] = float(i);
   fill(image, numbers);
   const VkSampler nearest = make_sampler({}, {});
   const VkImageView view = make_image_view(image, VK_IMAGE_VIEW_TYPE_2D);
   for (const char *function :
        {"textureLodOffset(image, at, 0, offset)", "textureOffset(image, at, offset)",
         "textureProjLodOffset(image, vec3(at, 1), 0, offset)",
         "textureProjOffset(image, vec3(at, 1), offset)",
         "textureGradOffset(image, at, vec2(0.01, 0), vec2(0, 0.01), offset)",
         "texelFetchOffset(image, ivec2(8), 0, offset)"}) {
      const TestBuffer out = make_buffer(count * 4);
      run_with(std::string("#extension GL_EXT_texture_offset_non_const : require\n"
                           "layout(local_size_x = 64) in;\n"
                           "layout(binding = 0) uniform sampler2D image;\n"
                           "layout(binding = 1) buffer Out { float numbers[]; };\n"
                           "void main()\n"
                           "{\n"
                           "   uint i = gl_GlobalInvocationID.x;\n"
                           "   ivec2 offset = ivec2(i % 8u, i / 8u) - 8;\n"
                           "   vec2 at = vec2(8.5) / 16;\n"
                           "   numbers[i] = ") +
                  function + ".r;\n}",
               view, out, {1, 1, 1}, nearest);
      for (uint32_t i = 0; i < count; ++i)
         ASSERT_EQ(out.as<float>()[i], float(i / 8 * size + i % 8)) << function << ", " << i;
   }
}

/// OpSRem has the sign of the dividend, OpSMod the sign of the divisor.
TEST_F(Maintenance8Test, RemaindersOfNegativeNumbers)
{
   const std::vector<int> divisors = {3, -3, 4, -4, 7, -7, 100, -100, 1};
   const size_t rows = 2 + 2 * (1 + divisors.size());
   const auto check = [&]<typename Number>(Number) {
      PipelineRecipe recipe;
      recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      VkPipelineLayout layout = make_layout(recipe);
      VkPipeline pipeline = VK_NULL_HANDLE;
      ASSERT_VK(try_pipeline(test::assemble(remainders(8 * sizeof(Number), divisors)), recipe,
                             layout, &pipeline))
         << messages;
      const TestBuffer out = make_buffer(rows * 16 * sizeof(Number));
      const std::span<Number> data = out.as<Number>();
      for (uint32_t i = 0; i < 16; ++i) {
         data[i] = Number(random());
         do
            data[16 + i] = Number(i % 2 ? random() : random() % 41 - 20);
         while (data[16 + i] == 0 || data[16 + i] == -1);
      }
      const std::vector<Number> before(data.begin(), data.begin() + 32);
      VkDescriptorSet set = make_set(recipe.sets[0]);
      write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      bind_and_run(layout, pipeline, set);
      for (size_t row = 2; row < rows; ++row) {
         for (uint32_t i = 0; i < 16; ++i) {
            const Number x = before[i];
            const Number y = row < 4 ? before[16 + i] : Number(divisors[(row - 4) / 2]);
            Number expected = Number(x % y);
            if (row % 2 == 1 && expected != 0 && (expected < 0) != (y < 0))
               expected = Number(expected + y);
            ASSERT_EQ(int64_t(data[row * 16 + i]), int64_t(expected))
               << int64_t(x) << (row % 2 ? " mod " : " rem ") << int64_t(y) << ", "
               << 8 * sizeof(Number) << " bits";
         }
      }
   };
   check(int8_t());
   check(int16_t());
   check(int32_t());
   check(int64_t());
}

/// Both scopes of a change of the owner, and 64 more bits of accesses.
TEST_F(Maintenance8Test, Barriers)
{
   const TestBuffer buffer = make_buffer(64), copy = make_buffer(64);
   const VkMemoryBarrierAccessFlags3KHR more = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_ACCESS_FLAGS_3_KHR};
   const VkBufferMemoryBarrier2 barrier = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
                                           .pNext = &more,
                                           .srcStageMask = VK_PIPELINE_STAGE_2_CLEAR_BIT,
                                           .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                           .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                           .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT,
                                           .srcQueueFamilyIndex = 0,
                                           .dstQueueFamilyIndex = VK_QUEUE_FAMILY_EXTERNAL,
                                           .buffer = buffer.handle,
                                           .size = VK_WHOLE_SIZE};
   const VkDependencyInfo dependency = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .dependencyFlags = VK_DEPENDENCY_QUEUE_FAMILY_OWNERSHIP_TRANSFER_USE_ALL_STAGES_BIT_KHR,
      .bufferMemoryBarrierCount = 1,
      .pBufferMemoryBarriers = &barrier};
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, buffer.handle, 0, VK_WHOLE_SIZE, 77);
   vkCmdPipelineBarrier2(cmd, &dependency);
   const VkBufferCopy region = {0, 0, 64};
   vkCmdCopyBuffer(cmd, buffer.handle, copy.handle, 1, &region);
   run(cmd);
   EXPECT_EQ(copy.as()[15], 77u);
}

/// A cache takes the contents of others while pipelines are created with it.
TEST_F(PipelineTest, CachesMergeOnSeveralThreads)
{
   const auto variant = [&](uint32_t value, VkPipelineCache cache, bool may_compile) {
      const VkSpecializationMapEntry entry = {0, 0, 4};
      const VkSpecializationInfo constants = {1, &entry, 4, &value};
      const VkComputePipelineCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .flags = may_compile ? 0
                              : VkPipelineCreateFlags(
                                   VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT),
         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = make_module(spirv),
                   .pName = "main",
                   .pSpecializationInfo = &constants},
         .layout = layout};
      VkPipeline pipeline = VK_NULL_HANDLE;
      const VkResult result = vkCreateComputePipelines(device, cache, 1, &info, nullptr, &pipeline);
      vkDestroyPipeline(device, pipeline, nullptr);
      return result;
   };
   const VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
      .flags = VK_PIPELINE_CACHE_CREATE_INTERNALLY_SYNCHRONIZED_MERGE_BIT_KHR};
   VkPipelineCache all = VK_NULL_HANDLE;
   ASSERT_VK(vkCreatePipelineCache(device, &info, nullptr, &all));
   clean_up.push_back([this, all] { vkDestroyPipelineCache(device, all, nullptr); });
   constexpr uint32_t count = 6;
   VkPipelineCache parts[count];
   for (uint32_t i = 0; i < count; ++i) {
      parts[i] = make_cache();
      ASSERT_VK(variant(i, parts[i], true));
   }
   std::vector<std::thread> threads;
   for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] { EXPECT_VK(vkMergePipelineCaches(device, all, 1, &parts[i])); });
   EXPECT_VK(variant(count, all, true));
   for (std::thread &thread : threads)
      thread.join();
   for (uint32_t i = 0; i <= count; ++i)
      EXPECT_VK(variant(i, all, false)) << i;
}

} // namespace weft::icd_test
