// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Host memory: if an allocation fails, the command returns an error and frees all its memory.

#include "tests/icd/fixture.h"

#include "tests/e2e/glsl.h"

namespace weft::icd_test {

class AllocationTest : public IcdTest {
protected:
   /// Lets the first, second, … allocation of a creation fail until it succeeds, then destroys the
   /// result.
   template <typename Create, typename Destroy>
   void fail_in_turn(const char *what, Create create, Destroy destroy)
   {
      CountingAllocator allocator;
      int64_t nth = 0;
      for (;; nth++) {
         ASSERT_LT(nth, 200) << what;
         allocator.fail_from(nth);
         VkResult result = create(allocator.callbacks());
         allocator.fail_from(-1);
         if (result == VK_SUCCESS)
            break;
         EXPECT_EQ(result, VK_ERROR_OUT_OF_HOST_MEMORY) << what << ", allocation " << nth;
         EXPECT_EQ(allocator.live(), 0) << what << ", allocation " << nth;
      }
      EXPECT_GT(nth, 0) << what << " allocates nothing that could fail";
      destroy(allocator.callbacks());
      EXPECT_EQ(allocator.live(), 0) << what;
   }
};

TEST_F(AllocationTest, Device)
{
   VkDevice other = VK_NULL_HANDLE;
   fail_in_turn(
      "vkCreateDevice",
      [&](const VkAllocationCallbacks *a) { return create_device(physical, a, &other); },
      [&](const VkAllocationCallbacks *a) { vkDestroyDevice(other, a); });
}

TEST_F(AllocationTest, Objects)
{
   VkBuffer buffer;
   VkBufferCreateInfo buffer_info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = 64,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
   };
   fail_in_turn(
      "vkCreateBuffer", [&](auto a) { return vkCreateBuffer(device, &buffer_info, a, &buffer); },
      [&](auto a) { vkDestroyBuffer(device, buffer, a); });

   VkDeviceMemory memory;
   VkMemoryAllocateInfo memory_info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .allocationSize = 64};
   fail_in_turn(
      "vkAllocateMemory",
      [&](auto a) { return vkAllocateMemory(device, &memory_info, a, &memory); },
      [&](auto a) { vkFreeMemory(device, memory, a); });

   VkEvent event;
   VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
   fail_in_turn(
      "vkCreateEvent", [&](auto a) { return vkCreateEvent(device, &event_info, a, &event); },
      [&](auto a) { vkDestroyEvent(device, event, a); });

   VkQueryPool queries;
   VkQueryPoolCreateInfo query_info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
      .queryType = VK_QUERY_TYPE_TIMESTAMP,
      .queryCount = 8,
   };
   fail_in_turn(
      "vkCreateQueryPool",
      [&](auto a) { return vkCreateQueryPool(device, &query_info, a, &queries); },
      [&](auto a) { vkDestroyQueryPool(device, queries, a); });

   VkFence fence;
   VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   fail_in_turn(
      "vkCreateFence", [&](auto a) { return vkCreateFence(device, &fence_info, a, &fence); },
      [&](auto a) { vkDestroyFence(device, fence, a); });

   VkSampler sampler;
   VkSamplerCreateInfo sampler_info = {.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
   fail_in_turn(
      "vkCreateSampler",
      [&](auto a) { return vkCreateSampler(device, &sampler_info, a, &sampler); },
      [&](auto a) { vkDestroySampler(device, sampler, a); });
}

TEST_F(AllocationTest, DescriptorSets)
{
   VkDescriptorSetLayout layout = make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)});
   VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4};
   VkDescriptorPoolCreateInfo pool_info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
      .maxSets = 4,
      .poolSizeCount = 1,
      .pPoolSizes = &size,
   };
   VkDescriptorPool descriptor_pool;
   auto create_pool = [&](const VkAllocationCallbacks *a) {
      VkResult result = vkCreateDescriptorPool(device, &pool_info, a, &descriptor_pool);
      if (result != VK_SUCCESS)
         return result;
      VkDescriptorSetLayout layouts[] = {layout, layout, layout};
      VkDescriptorSetAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
         .descriptorPool = descriptor_pool,
         .descriptorSetCount = 3,
         .pSetLayouts = layouts,
      };
      VkDescriptorSet sets[3];
      result = vkAllocateDescriptorSets(device, &info, sets);
      if (result != VK_SUCCESS) {
         for (VkDescriptorSet set : sets)
            EXPECT_EQ(set, VkDescriptorSet(VK_NULL_HANDLE));
         vkDestroyDescriptorPool(device, descriptor_pool, a);
      }
      return result;
   };
   fail_in_turn("descriptor pool and sets", create_pool,
                [&](auto a) { vkDestroyDescriptorPool(device, descriptor_pool, a); });
}

TEST_F(AllocationTest, RecordingFailsAtTheEnd)
{
   TestBuffer buffer = make_buffer(64);
   VkCommandPool other_pool;
   VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
   auto record_commands = [&](const VkAllocationCallbacks *a) {
      VkResult result = vkCreateCommandPool(device, &pool_info, a, &other_pool);
      if (result != VK_SUCCESS)
         return result;
      VkCommandBufferAllocateInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
         .commandPool = other_pool,
         .commandBufferCount = 1,
      };
      VkCommandBuffer cmd;
      result = vkAllocateCommandBuffers(device, &info, &cmd);
      if (result == VK_SUCCESS) {
         VkCommandBufferBeginInfo begin_info = {.sType =
                                                   VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
         EXPECT_VK(vkBeginCommandBuffer(cmd, &begin_info));
         for (int i = 0; i < 1000; i++)
            vkCmdFillBuffer(cmd, buffer.handle, 0, 64, 1);
         result = vkEndCommandBuffer(cmd);
      }
      if (result != VK_SUCCESS)
         vkDestroyCommandPool(device, other_pool, a);
      return result;
   };
   fail_in_turn("recording", record_commands,
                [&](auto a) { vkDestroyCommandPool(device, other_pool, a); });
}

TEST_F(AllocationTest, Pipelines)
{
   PipelineRecipe recipe;
   recipe.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkShaderModule module =
      make_module(e2e::compile_glsl("#version 460\nlayout(local_size_x = 1) in; layout(set = 0, "
                                    "binding = 0) buffer Out { uint x; };\n"
                                    "void main() { x = 1; }"));
   VkComputePipelineCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
         {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = "main",
         },
      .layout = layout,
   };
   VkPipeline pipeline = VK_NULL_HANDLE;
   fail_in_turn(
      "vkCreateComputePipelines",
      [&](auto a) {
         return vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, a, &pipeline);
      },
      [&](auto a) { vkDestroyPipeline(device, pipeline, a); });
}

TEST_F(AllocationTest, GeneratedCommands)
{
   const VkIndirectCommandsLayoutTokenEXT token = {
      .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_TOKEN_EXT,
      .type = VK_INDIRECT_COMMANDS_TOKEN_TYPE_DISPATCH_EXT,
   };
   const VkIndirectCommandsLayoutCreateInfoEXT layout_info = {
      .sType = VK_STRUCTURE_TYPE_INDIRECT_COMMANDS_LAYOUT_CREATE_INFO_EXT,
      .shaderStages = VK_SHADER_STAGE_COMPUTE_BIT,
      .indirectStride = 12,
      .tokenCount = 1,
      .pTokens = &token,
   };
   const auto create_layout =
      device_function<PFN_vkCreateIndirectCommandsLayoutEXT>("vkCreateIndirectCommandsLayoutEXT");
   const auto destroy_layout =
      device_function<PFN_vkDestroyIndirectCommandsLayoutEXT>("vkDestroyIndirectCommandsLayoutEXT");
   VkIndirectCommandsLayoutEXT layout = VK_NULL_HANDLE;
   fail_in_turn(
      "vkCreateIndirectCommandsLayoutEXT",
      [&](auto a) { return create_layout(device, &layout_info, a, &layout); },
      [&](auto a) { destroy_layout(device, layout, a); });

   const VkPipelineCreateFlags2CreateInfo flags = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO,
      .flags = VK_PIPELINE_CREATE_2_INDIRECT_BINDABLE_BIT_EXT,
   };
   PipelineRecipe recipe;
   recipe.next = &flags;
   const VkIndirectExecutionSetPipelineInfoEXT pipeline_info = {
      .sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_PIPELINE_INFO_EXT,
      .initialPipeline =
         make_pipeline("layout(local_size_x = 1) in; void main() {}", recipe, make_layout(recipe)),
      .maxPipelineCount = 4,
   };
   VkIndirectExecutionSetCreateInfoEXT set_info = {
      .sType = VK_STRUCTURE_TYPE_INDIRECT_EXECUTION_SET_CREATE_INFO_EXT,
      .type = VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT,
   };
   set_info.info.pPipelineInfo = &pipeline_info;
   const auto create_set =
      device_function<PFN_vkCreateIndirectExecutionSetEXT>("vkCreateIndirectExecutionSetEXT");
   const auto destroy_set =
      device_function<PFN_vkDestroyIndirectExecutionSetEXT>("vkDestroyIndirectExecutionSetEXT");
   VkIndirectExecutionSetEXT set = VK_NULL_HANDLE;
   fail_in_turn(
      "vkCreateIndirectExecutionSetEXT",
      [&](auto a) { return create_set(device, &set_info, a, &set); },
      [&](auto a) { destroy_set(device, set, a); });
}

TEST_F(AllocationTest, ADeviceGivesEverythingBack)
{
   CountingAllocator allocator;
   VkInstance other = create_instance(allocator.callbacks());
   VkDevice other_device;
   ASSERT_VK(create_device(get_physical_device(other), allocator.callbacks(), &other_device));
   VkQueue other_queue;
   vkGetDeviceQueue(other_device, 0, 0, &other_queue);
   VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
   VkFence fence;
   ASSERT_VK(vkCreateFence(other_device, &fence_info, allocator.callbacks(), &fence));
   for (int i = 0; i < 10; i++) {
      ASSERT_VK(vkQueueSubmit(other_queue, 0, nullptr, fence));
      ASSERT_VK(vkWaitForFences(other_device, 1, &fence, VK_TRUE, wait_limit));
      ASSERT_VK(vkResetFences(other_device, 1, &fence));
   }
   ASSERT_VK(vkDeviceWaitIdle(other_device));
   vkDestroyFence(other_device, fence, allocator.callbacks());
   vkDestroyDevice(other_device, allocator.callbacks());
   vkDestroyInstance(other, allocator.callbacks());
   EXPECT_GT(allocator.total(), 0);
   EXPECT_EQ(allocator.live(), 0);
}

} // namespace weft::icd_test
