// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Commands of advertised extensions that no other test calls.

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"
#include "tests/spirv/assemble.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::icd_test {

class ExtensionTest : public IcdTest {
protected:
   static constexpr const char *add_one = R"(
      layout(local_size_x = 4) in;
      layout(push_constant) uniform Push { uint more; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main() { data[gl_GlobalInvocationID.x] += more; })";

   void SetUp() override
   {
      IcdTest::SetUp();
      recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC)})};
      recipe.push_bytes = 4;
      layout = make_layout(recipe);
      pipeline = make_pipeline(add_one, recipe, layout);
      buffer = make_buffer(256);
      set = make_set(recipe.sets[0]);
      write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC, buffer, 0, 64);
   }

   void bind(VkCommandBuffer cmd, uint32_t offset, uint32_t more)
   {
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 1, &offset);
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &more);
   }

   PipelineRecipe recipe;
   VkPipelineLayout layout = VK_NULL_HANDLE;
   VkPipeline pipeline = VK_NULL_HANDLE;
   VkDescriptorSet set = VK_NULL_HANDLE;
   TestBuffer buffer;
};

TEST_F(ExtensionTest, MapMemory2)
{
   VkMemoryAllocateInfo info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .allocationSize = 8192,
   };
   VkDeviceMemory memory;
   ASSERT_VK(vkAllocateMemory(device, &info, nullptr, &memory));
   void *whole, *part;
   ASSERT_VK(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &whole));
   vkUnmapMemory(device, memory);
   VkMemoryMapInfoKHR map_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_MAP_INFO_KHR,
      .memory = memory,
      .offset = 4096,
      .size = 4096,
   };
   ASSERT_VK(device_function<PFN_vkMapMemory2KHR>("vkMapMemory2KHR")(device, &map_info, &part));
   EXPECT_EQ(part, static_cast<uint8_t *>(whole) + 4096);
   VkMemoryUnmapInfoKHR unmap_info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_UNMAP_INFO_KHR,
      .memory = memory,
   };
   EXPECT_VK(device_function<PFN_vkUnmapMemory2KHR>("vkUnmapMemory2KHR")(device, &unmap_info));
   vkFreeMemory(device, memory, nullptr);
}

TEST_F(ExtensionTest, Maintenance6BindsAndPushes)
{
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   const uint32_t offset = 64, more = 7;
   VkBindDescriptorSetsInfoKHR sets_info = {
      .sType = VK_STRUCTURE_TYPE_BIND_DESCRIPTOR_SETS_INFO_KHR,
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      .layout = layout,
      .descriptorSetCount = 1,
      .pDescriptorSets = &set,
      .dynamicOffsetCount = 1,
      .pDynamicOffsets = &offset,
   };
   device_function<PFN_vkCmdBindDescriptorSets2KHR>("vkCmdBindDescriptorSets2KHR")(cmd, &sets_info);
   VkPushConstantsInfoKHR push_info = {
      .sType = VK_STRUCTURE_TYPE_PUSH_CONSTANTS_INFO_KHR,
      .layout = layout,
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      .size = 4,
      .pValues = &more,
   };
   device_function<PFN_vkCmdPushConstants2KHR>("vkCmdPushConstants2KHR")(cmd, &push_info);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 64; i++)
      EXPECT_EQ(buffer.as()[i], i >= 16 && i < 20 ? 7u : 0u) << i;
}

TEST_F(ExtensionTest, Maintenance6TellsHowEachBindingWent)
{
   VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = 64,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
   };
   VkBuffer inner;
   ASSERT_VK(vkCreateBuffer(device, &info, nullptr, &inner));
   VkResult result = VK_ERROR_UNKNOWN;
   VkBindMemoryStatusKHR status = {
      .sType = VK_STRUCTURE_TYPE_BIND_MEMORY_STATUS_KHR,
      .pResult = &result,
   };
   VkBindBufferMemoryInfo bind_info = {
      .sType = VK_STRUCTURE_TYPE_BIND_BUFFER_MEMORY_INFO,
      .pNext = &status,
      .buffer = inner,
      .memory = buffer.memory,
   };
   EXPECT_VK(vkBindBufferMemory2(device, 1, &bind_info));
   EXPECT_VK(result);
   vkDestroyBuffer(device, inner, nullptr);
}

TEST_F(ExtensionTest, CopyCommands2)
{
   for (uint32_t i = 0; i < 64; i++)
      buffer.as()[i] = i;
   VkBufferCopy2 regions[] = {
      {.sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2, .srcOffset = 0, .dstOffset = 128, .size = 16},
      {.sType = VK_STRUCTURE_TYPE_BUFFER_COPY_2, .srcOffset = 20, .dstOffset = 200, .size = 8},
   };
   VkCopyBufferInfo2 info = {
      .sType = VK_STRUCTURE_TYPE_COPY_BUFFER_INFO_2,
      .srcBuffer = buffer.handle,
      .dstBuffer = buffer.handle,
      .regionCount = 2,
      .pRegions = regions,
   };
   VkCommandBuffer cmd = begin();
   vkCmdCopyBuffer2(cmd, &info);
   run(cmd);
   for (uint32_t i = 0; i < 64; i++)
      EXPECT_EQ(buffer.as()[i], i >= 32 && i < 36 ? i - 32 : i >= 50 && i < 52 ? i - 45 : i) << i;
}

TEST_F(ExtensionTest, PrivateData)
{
   VkPrivateDataSlotCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PRIVATE_DATA_SLOT_CREATE_INFO};
   VkPrivateDataSlot slots[3];
   for (VkPrivateDataSlot &slot : slots)
      ASSERT_VK(vkCreatePrivateDataSlot(device, &info, nullptr, &slot));
   const uint64_t a = uint64_t(uintptr_t(buffer.handle)), b = uint64_t(uintptr_t(pipeline));
   for (uint32_t s = 0; s < 3; s++) {
      EXPECT_VK(vkSetPrivateData(device, VK_OBJECT_TYPE_BUFFER, a, slots[s], 100 + s));
      EXPECT_VK(vkSetPrivateData(device, VK_OBJECT_TYPE_PIPELINE, b, slots[s], ~uint64_t(s)));
   }
   for (uint32_t s = 0; s < 3; s++) {
      uint64_t value = 1;
      vkGetPrivateData(device, VK_OBJECT_TYPE_BUFFER, a, slots[s], &value);
      EXPECT_EQ(value, 100 + s);
      vkGetPrivateData(device, VK_OBJECT_TYPE_PIPELINE, b, slots[s], &value);
      EXPECT_EQ(value, ~uint64_t(s));
      vkGetPrivateData(device, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT,
                       uint64_t(uintptr_t(recipe.sets[0])), slots[s], &value);
      EXPECT_EQ(value, 0u);
   }
   for (VkPrivateDataSlot slot : slots)
      vkDestroyPrivateDataSlot(device, slot, nullptr);
}

TEST_F(ExtensionTest, DeviceGroupsOfOne)
{
   VkPhysicalDeviceGroupProperties group = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_GROUP_PROPERTIES,
   };
   uint32_t count = 1;
   ASSERT_VK(vkEnumeratePhysicalDeviceGroups(instance, &count, &group));
   ASSERT_EQ(count, 1u);
   EXPECT_EQ(group.physicalDeviceCount, 1u);
   EXPECT_EQ(group.physicalDevices[0], physical);

   const std::string glsl = R"(
      #extension GL_EXT_device_group : require
      layout(local_size_x = 4) in;
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main() { data[gl_GlobalInvocationID.x] = gl_DeviceIndex + 5; })";
   pipeline = make_pipeline(glsl, recipe, layout);
   VkCommandBuffer cmd = begin();
   vkCmdSetDeviceMask(cmd, 1);
   bind(cmd, 0, 0);
   vkCmdDispatchBase(cmd, 0, 0, 0, 1, 1, 1);
   run(cmd);
   for (uint32_t i = 0; i < 4; i++)
      EXPECT_EQ(buffer.as()[i], 5u);
}

/// The commands of VK_KHR_synchronization2, with parameters that the older commands lack.
TEST_F(ExtensionTest, Synchronization2)
{
   VkEventCreateInfo event_info = {
      .sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO,
      .flags = VK_EVENT_CREATE_DEVICE_ONLY_BIT,
   };
   VkEvent event;
   ASSERT_VK(vkCreateEvent(device, &event_info, nullptr, &event));
   VkMemoryBarrier2 barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      .srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT,
      .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_TRANSFER_READ_BIT,
   };
   VkDependencyInfo dependency = {
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
      .memoryBarrierCount = 1,
      .pMemoryBarriers = &barrier,
   };
   VkCommandBuffer cmd = begin();
   bind(cmd, 0, 3);
   vkCmdDispatch(cmd, 1, 1, 1);
   vkCmdSetEvent2(cmd, event, &dependency);
   vkCmdWaitEvents2(cmd, 1, &event, &dependency);
   vkCmdDispatch(cmd, 1, 1, 1);
   vkCmdResetEvent2(cmd, event, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT);
   vkCmdPipelineBarrier2(cmd, &dependency);
   VkBufferCopy region = {0, 32, 16};
   vkCmdCopyBuffer(cmd, buffer.handle, buffer.handle, 1, &region);
   run(cmd);
   for (uint32_t i = 0; i < 4; i++) {
      EXPECT_EQ(buffer.as()[i], 6u);
      EXPECT_EQ(buffer.as()[8 + i], 6u);
   }
   vkDestroyEvent(device, event, nullptr);
}

/// An inline block uses its size in the set from the pool, not the layout's maximum.
TEST_F(ExtensionTest, PoolsCountTheBytesOfVariableInlineBlocks)
{
   const VkDescriptorBindingFlags flags = VK_DESCRIPTOR_BINDING_VARIABLE_DESCRIPTOR_COUNT_BIT;
   VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = 1,
      .pBindingFlags = &flags,
   };
   const VkDescriptorSetLayout set_layout =
      make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 256)}, 0, &flags_info);
   const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 16};
   const VkDescriptorPoolInlineUniformBlockCreateInfo blocks = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
      .maxInlineUniformBlockBindings = 1,
   };
   const VkDescriptorPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .pNext = &blocks,
      .maxSets = 1,
      .poolSizeCount = 1,
      .pPoolSizes = &size,
   };
   VkDescriptorPool small_pool;
   ASSERT_VK(vkCreateDescriptorPool(device, &pool_info, nullptr, &small_pool));
   const auto allocate = [&](uint32_t bytes) {
      const VkDescriptorSetVariableDescriptorCountAllocateInfo count = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_VARIABLE_DESCRIPTOR_COUNT_ALLOCATE_INFO,
         .descriptorSetCount = 1,
         .pDescriptorCounts = &bytes,
      };
      const VkDescriptorSetAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
         .pNext = &count,
         .descriptorPool = small_pool,
         .descriptorSetCount = 1,
         .pSetLayouts = &set_layout,
      };
      VkDescriptorSet set;
      return vkAllocateDescriptorSets(device, &info, &set);
   };
   EXPECT_EQ(allocate(256), VK_ERROR_OUT_OF_POOL_MEMORY);
   for (int round = 0; round < 2; round++) {
      EXPECT_VK(allocate(16));
      EXPECT_VK(vkResetDescriptorPool(device, small_pool, 0));
   }
   vkDestroyDescriptorPool(device, small_pool, nullptr);
}

/// A descriptor set in use may be written where nothing pending reads it, and an inline block that
/// is bound before it is written.
TEST_F(ExtensionTest, DescriptorsMayBeWrittenLate)
{
   const VkDescriptorBindingFlags late = VK_DESCRIPTOR_BINDING_UPDATE_AFTER_BIND_BIT |
                                         VK_DESCRIPTOR_BINDING_UPDATE_UNUSED_WHILE_PENDING_BIT |
                                         VK_DESCRIPTOR_BINDING_PARTIALLY_BOUND_BIT;
   const VkDescriptorBindingFlags flags[] = {late, late};
   VkDescriptorSetLayoutBindingFlagsCreateInfo flags_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_BINDING_FLAGS_CREATE_INFO,
      .bindingCount = 2,
      .pBindingFlags = flags,
   };
   PipelineRecipe late_recipe;
   late_recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, 16),
                                        binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 2)},
                                       VK_DESCRIPTOR_SET_LAYOUT_CREATE_UPDATE_AFTER_BIND_POOL_BIT,
                                       &flags_info)};
   VkPipelineLayout late_layout = make_layout(late_recipe);
   VkPipeline late_pipeline = make_pipeline(R"(
      layout(local_size_x = 1) in;
      layout(set = 0, binding = 0) uniform In { uvec4 values; };
      layout(set = 0, binding = 1) buffer Out { uint x; } outs[2];
      void main() { outs[0].x = values.z; })",
                                            late_recipe, late_layout);
   VkDescriptorSet late_set =
      make_set(late_recipe.sets[0], VK_DESCRIPTOR_POOL_CREATE_UPDATE_AFTER_BIND_BIT);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, late_pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, late_layout, 0, 1, &late_set, 0,
                           nullptr);
   for (int i = 0; i < 100; i++)
      vkCmdDispatch(cmd, 1, 1, 1);
   ASSERT_VK(vkEndCommandBuffer(cmd));
   const uint32_t values[4] = {1, 2, 33, 4};
   VkWriteDescriptorSetInlineUniformBlock block = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK,
      .dataSize = 16,
      .pData = values,
   };
   VkWriteDescriptorSet write = {
      .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
      .pNext = &block,
      .dstSet = late_set,
      .dstBinding = 0,
      .descriptorCount = 16,
      .descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK,
   };
   vkUpdateDescriptorSets(device, 1, &write, 0, nullptr);
   write_buffer(late_set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer, 0, 4, 0);
   ASSERT_VK(submit(cmd));
   // The running dispatches do not read element 1.
   write_buffer(late_set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffer, 16, 4, 1);
   ASSERT_VK(vkQueueWaitIdle(queue));
   EXPECT_EQ(buffer.as()[0], 33u);
}

/// Among several pipelines, a failure takes precedence over VK_PIPELINE_COMPILE_REQUIRED.
TEST_F(ExtensionTest, AFailureCountsMoreThanAMissingCompilation)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + add_one);
   VkComputePipelineCreateInfo infos[2];
   for (int i = 0; i < 2; i++)
      infos[i] = {
         .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
         .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .module = make_module(spirv),
                   .pName = "main"},
         .layout = layout,
      };
   for (const bool failure_first : {false, true}) {
      for (const bool fails : {false, true}) {
         infos[failure_first ? 0 : 1].flags = 0;
         infos[failure_first ? 1 : 0].flags =
            VK_PIPELINE_CREATE_FAIL_ON_PIPELINE_COMPILE_REQUIRED_BIT;
         infos[failure_first ? 1 : 0].stage.pName = "main";
         infos[failure_first ? 0 : 1].stage.pName = fails ? "nothing" : "main";
         VkPipeline pipelines[2] = {};
         EXPECT_EQ(vkCreateComputePipelines(device, VK_NULL_HANDLE, 2, infos, nullptr, pipelines),
                   fails ? VK_ERROR_UNKNOWN : VK_PIPELINE_COMPILE_REQUIRED);
         EXPECT_EQ(pipelines[failure_first ? 1 : 0], VkPipeline(VK_NULL_HANDLE));
         EXPECT_EQ(pipelines[failure_first ? 0 : 1] == VK_NULL_HANDLE, fails);
         for (VkPipeline made : pipelines)
            vkDestroyPipeline(device, made, nullptr);
      }
   }
}

/// VK_KHR_maintenance5: a module that is given with the pipeline.
TEST_F(ExtensionTest, ModulesInTheChainOfTheirStage)
{
   const std::vector<uint32_t> spirv = e2e::compile_glsl(std::string(e2e::glsl_header) + add_one);
   const VkShaderModuleCreateInfo module = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
      .codeSize = spirv.size() * 4,
      .pCode = spirv.data(),
   };
   const VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = &module,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .pName = "main"},
      .layout = layout,
   };
   ASSERT_VK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline));
   clean_up.push_back([=, this, made = pipeline] { vkDestroyPipeline(device, made, nullptr); });
   const uint32_t before = buffer.as()[0];
   VkCommandBuffer cmd = begin();
   bind(cmd, 0, 41);
   vkCmdDispatch(cmd, 1, 1, 1);
   run(cmd);
   EXPECT_NE(buffer.as()[0], before);
}

/// The decorations that compilers of HLSL write: strings, counters, types. They change no effect.
TEST_F(ExtensionTest, DecorationsOfHlsl)
{
   const std::vector<uint32_t> spirv = test::assemble(R"(
      OpCapability Shader
      OpExtension "SPV_GOOGLE_decorate_string"
      OpExtension "SPV_GOOGLE_hlsl_functionality1"
      OpExtension "SPV_GOOGLE_user_type"
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main" %out %counter
      OpExecutionMode %main LocalSize 1 1 1
      OpDecorate %out DescriptorSet 0
      OpDecorate %out Binding 0
      OpDecorate %counter DescriptorSet 0
      OpDecorate %counter Binding 1
      OpDecorateId %out HlslCounterBufferGOOGLE %counter
      OpDecorateString %out UserTypeGOOGLE "rwbyteaddressbuffer"
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpMemberDecorateString %block 0 HlslSemanticGOOGLE "VALUE"
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      %c0 = OpConstant %uint 0
      %c1 = OpConstant %uint 1
      %c7 = OpConstant %uint 7
      %block = OpTypeStruct %uint
      %block_pointer = OpTypePointer StorageBuffer %block
      %pointer = OpTypePointer StorageBuffer %uint
      %out = OpVariable %block_pointer StorageBuffer
      %counter = OpVariable %block_pointer StorageBuffer
      %main = OpFunction %void None %function
      %entry = OpLabel
      %to = OpAccessChain %pointer %out %c0
      %counted = OpAccessChain %pointer %counter %c0
      OpStore %to %c7
      %before = OpAtomicIAdd %uint %counted %c1 %c0 %c7
      OpReturn
      OpFunctionEnd)");
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                                   binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   layout = make_layout(recipe);
   ASSERT_VK(try_pipeline(spirv, recipe, layout, &pipeline)) << messages;
   const TestBuffer out = make_buffer(4), counter = make_buffer(4);
   set = make_set(recipe.sets[0]);
   write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, counter);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, 3, 1, 1);
   run(cmd);
   EXPECT_EQ(out.as()[0], 7u);
   EXPECT_EQ(counter.as()[0], 21u);
}

/// A device that enables only the name with KHR has its features (VK_KHR_robustness2).
TEST_F(ExtensionTest, RobustnessOfKhronos)
{
   VkPhysicalDeviceRobustness2FeaturesKHR robustness = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_KHR};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &robustness};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(robustness.robustBufferAccess2);
   EXPECT_TRUE(robustness.robustImageAccess2);
   EXPECT_TRUE(robustness.nullDescriptor);
   VkDevice other = VK_NULL_HANDLE;
   const char *name = VK_KHR_ROBUSTNESS_2_EXTENSION_NAME;
   ASSERT_VK(vulkan::try_device(physical, {.extensions = {&name, 1}, .next = &features}, &other));
   vkDestroyDevice(other, nullptr);
}

TEST_F(ExtensionTest, LayoutsMeanNothing)
{
   VkPhysicalDeviceUnifiedImageLayoutsFeaturesKHR layouts = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFIED_IMAGE_LAYOUTS_FEATURES_KHR};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &layouts};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(layouts.unifiedImageLayouts);
   EXPECT_FALSE(layouts.unifiedImageLayoutsVideo);
}

/// A buffer goes to a foreign queue family and comes back (VK_EXT_queue_family_foreign).
TEST_F(ExtensionTest, ForeignQueueFamilies)
{
   const std::vector<std::string> names = vulkan::device_extensions(physical);
   EXPECT_NE(std::ranges::find(names, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME), names.end());
   const uint32_t words[] = {0x12345678, 0x9abcdef0};
   const TestBuffer shared = make_buffer(sizeof(words), words), copied = make_buffer(sizeof(words));
   VkBufferMemoryBarrier transfer = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
      .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
      .srcQueueFamilyIndex = 0,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_FOREIGN_EXT,
      .buffer = shared.handle,
      .size = VK_WHOLE_SIZE,
   };
   VkCommandBuffer cmd = begin();
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0,
                        nullptr, 1, &transfer, 0, nullptr);
   std::swap(transfer.srcQueueFamilyIndex, transfer.dstQueueFamilyIndex);
   vkCmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0,
                        nullptr, 1, &transfer, 0, nullptr);
   const VkBufferCopy copy = {0, 0, sizeof(words)};
   vkCmdCopyBuffer(cmd, shared.handle, copied.handle, 1, &copy);
   run(cmd);
   EXPECT_TRUE(std::ranges::equal(copied.as(), words));
}

} // namespace weft::icd_test
