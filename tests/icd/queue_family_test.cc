// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The two queue families of WEFT_QUEUE=graphics, and the objects of graphics that need no draws.

#include "tests/icd/dispatch_fixture.h"

#include <array>
#include <numeric>

namespace weft::icd_test {

class QueueFamilyTest : public DispatchTest {
protected:
   void SetUp() override
   {
      DispatchTest::SetUp();
      vkGetDeviceQueue(device, 1, 0, &other_queue);
      other_pool = vulkan::create_command_pool(device, 1, 0);
   }

   void TearDown() override
   {
      vkDeviceWaitIdle(device);
      vkDestroyCommandPool(device, other_pool, nullptr);
      DispatchTest::TearDown();
   }

   /// A new command buffer of a family, to which the pipeline and the set are bound.
   VkCommandBuffer begin_in(VkCommandPool from, VkCommandBufferUsageFlags flags = 0)
   {
      const VkCommandBuffer cmd = vulkan::begin_commands(device, from, flags);
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      return cmd;
   }

   VkQueue other_queue = VK_NULL_HANDLE;
   VkCommandPool other_pool = VK_NULL_HANDLE;
};

TEST_F(QueueFamilyTest, GraphicsAndComputeAlone)
{
   constexpr VkQueueFlags compute =
      VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
   uint32_t count = 2;
   std::array<VkQueueFamilyProperties, 2> families;
   vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families.data());
   ASSERT_EQ(count, 2u);
   EXPECT_EQ(families[0].queueFlags, compute | VK_QUEUE_GRAPHICS_BIT);
   EXPECT_EQ(families[1].queueFlags, compute);
   EXPECT_NE(queue, other_queue);
}

/// Vulkan requires these stages of devices with graphics ("Required Limits").
TEST_F(QueueFamilyTest, GeneratedCommandsHaveStagesOfDraws)
{
   VkPhysicalDeviceDeviceGeneratedCommandsPropertiesEXT limits = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_PROPERTIES_EXT};
   VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      .pNext = &limits};
   vkGetPhysicalDeviceProperties2(physical, &all);
   EXPECT_EQ(limits.supportedIndirectCommandsShaderStages, VK_SHADER_STAGE_COMPUTE_BIT |
                                                              VK_SHADER_STAGE_VERTEX_BIT |
                                                              VK_SHADER_STAGE_FRAGMENT_BIT);
   EXPECT_EQ(limits.supportedIndirectCommandsShaderStagesPipelineBinding,
             VkShaderStageFlags(VK_SHADER_STAGE_COMPUTE_BIT));
   EXPECT_NE(limits.supportedIndirectCommandsInputModes &
                VK_INDIRECT_COMMANDS_INPUT_MODE_VULKAN_INDEX_BUFFER_EXT,
             0u);
}

/// Each step waits for the one before it, which the other queue runs.
TEST_F(QueueFamilyTest, QueuesWaitForEachOther)
{
   constexpr uint32_t steps = 40, words = 1024;
   // The order of dispatches shows in the result.
   use_one_buffer(R"(
      layout(local_size_x = 64) in;
      layout(push_constant) uniform Push { uint addend; };
      layout(set = 0, binding = 0) buffer Out { uint data[]; };
      void main() { data[gl_GlobalInvocationID.x] = data[gl_GlobalInvocationID.x] * 3 + addend; })",
                  words * 4, 4);
   std::iota(out.as().begin(), out.as().end(), 7);

   const VkSemaphore timeline = make_timeline();
   const std::array queues = {queue, other_queue};
   const std::array pools = {pool, other_pool};
   // A queue runs its submissions in order. The queue of the odd steps, which begins second, gets
   // all its submissions first.
   for (const uint32_t parity : {1u, 0u}) {
      for (uint32_t i = parity; i < steps; i += 2) {
         const VkCommandBuffer cmd = begin_in(pools[parity]);
         vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &i);
         vkCmdDispatch(cmd, words / 64, 1, 1);
         ASSERT_VK(vkEndCommandBuffer(cmd));
         const VkSemaphoreSubmitInfo wait = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
            .semaphore = timeline,
            .value = i,
            .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
         };
         VkSemaphoreSubmitInfo signal = wait;
         signal.value = i + 1;
         const VkCommandBufferSubmitInfo cmd_info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = cmd};
         const VkSubmitInfo2 info = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
            .waitSemaphoreInfoCount = 1,
            .pWaitSemaphoreInfos = &wait,
            .commandBufferInfoCount = 1,
            .pCommandBufferInfos = &cmd_info,
            .signalSemaphoreInfoCount = 1,
            .pSignalSemaphoreInfos = &signal,
         };
         ASSERT_VK(vkQueueSubmit2(queues[parity], 1, &info, VK_NULL_HANDLE));
      }
   }
   ASSERT_VK(vkDeviceWaitIdle(device));
   for (uint32_t word = 0; word < words; word++) {
      uint32_t expected = word + 7;
      for (uint32_t i = 0; i < steps; i++)
         expected = expected * 3 + i;
      ASSERT_EQ(out.as()[word], expected) << word;
   }
}

/// Both queues run one pipeline at the same time.
TEST_F(QueueFamilyTest, QueuesShareAPipeline)
{
   constexpr uint32_t rounds = 20, groups = 64;
   use_one_buffer(R"(
      layout(local_size_x = 64) in;
      layout(set = 0, binding = 0) buffer Out { uint sum; };
      shared uint scratch[64];
      void main()
      {
         scratch[gl_LocalInvocationID.x] = gl_LocalInvocationID.x;
         barrier();
         atomicAdd(sum, scratch[63 - gl_LocalInvocationID.x]);
      })",
                  4);
   VkCommandBuffer cmds[2];
   for (uint32_t i = 0; i < 2; i++) {
      cmds[i] = begin_in(i ? other_pool : pool, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
      vkCmdDispatch(cmds[i], groups, 1, 1);
      ASSERT_VK(vkEndCommandBuffer(cmds[i]));
   }
   for (uint32_t round = 0; round < rounds; round++) {
      for (uint32_t i = 0; i < 2; i++) {
         const VkSubmitInfo info = {
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
            .commandBufferCount = 1,
            .pCommandBuffers = &cmds[i],
         };
         ASSERT_VK(vkQueueSubmit(i ? other_queue : queue, 1, &info, VK_NULL_HANDLE));
      }
   }
   ASSERT_VK(vkDeviceWaitIdle(device));
   EXPECT_EQ(out.as()[0], 2 * rounds * groups * (63 * 64 / 2));
}

/// Nothing is drawn, so occlusion queries count nothing.
TEST_F(QueueFamilyTest, OcclusionQueriesAreZero)
{
   const VkQueryPool queries = make_query_pool(VK_QUERY_TYPE_OCCLUSION, 2);
   vkResetQueryPool(device, queries, 0, 2);
   const VkCommandBuffer cmd = begin();
   vkCmdBeginQuery(cmd, queries, 1, 0);
   vkCmdEndQuery(cmd, queries, 1);
   run(cmd);

   constexpr uint64_t poison = 0x5a5a'5a5a'5a5a'5a5a;
   constexpr VkQueryResultFlags flags =
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
   using Results = std::array<uint64_t, 4>; // values and availabilities
   Results results;
   const auto read = [&](VkQueryResultFlags more) {
      results.fill(poison);
      return vkGetQueryPoolResults(device, queries, 0, 2, sizeof(results), results.data(), 16,
                                   flags | more);
   };
   EXPECT_EQ(read(0), VK_NOT_READY);
   EXPECT_EQ(results, (Results{poison, 0, 0, 1}));
   EXPECT_VK(read(VK_QUERY_RESULT_PARTIAL_BIT));
   EXPECT_EQ(results, (Results{0, 0, 0, 1}));
}

TEST_F(QueueFamilyTest, InputAttachmentsHaveDescriptors)
{
   VkPhysicalDeviceProperties properties;
   vkGetPhysicalDeviceProperties(physical, &properties);
   const uint32_t count = properties.limits.maxPerStageDescriptorInputAttachments;
   const VkDescriptorSetLayoutBinding input = {0, VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT, count,
                                               VK_SHADER_STAGE_FRAGMENT_BIT, nullptr};
   EXPECT_NE(make_set(make_set_layout({input})), VkDescriptorSet(VK_NULL_HANDLE));
}

TEST_F(QueueFamilyTest, FormatsOfVertices)
{
   const auto is_for_vertices = [&](VkFormat format) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, format, &properties);
      return bool(properties.bufferFeatures & VK_FORMAT_FEATURE_VERTEX_BUFFER_BIT);
   };
   EXPECT_TRUE(is_for_vertices(VK_FORMAT_R32G32B32_SFLOAT));
   EXPECT_TRUE(is_for_vertices(VK_FORMAT_R8G8B8A8_USCALED));
   for (const VkFormat format :
        {VK_FORMAT_UNDEFINED, VK_FORMAT_MAX_ENUM, VK_FORMAT_D32_SFLOAT, VK_FORMAT_BC7_UNORM_BLOCK,
         VK_FORMAT_B16G16R16G16_422_UNORM, VK_FORMAT_R10X6G10X6B10X6A10X6_UNORM_4PACK16})
      EXPECT_FALSE(is_for_vertices(format)) << format;
}

} // namespace weft::icd_test
