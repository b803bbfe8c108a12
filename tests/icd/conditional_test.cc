// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_conditional_rendering: dispatches. attachment_test.cc has the clears of attachments.

#include "tests/icd/dispatch_fixture.h"

#include "tests/backend/cpu/seed.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace weft::icd_test {

namespace {

/// Adds 1 to the element that a push constant names.
const char *const count_runs = R"(
   layout(local_size_x = 1) in;
   layout(push_constant) uniform Push { uint number; };
   layout(set = 0, binding = 0) buffer Out { uint data[]; };
   void main() { data[number]++; })";

constexpr VkConditionalRenderingFlagsEXT inverted = VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT;
constexpr uint32_t poison = 0xa5a5a5a5;

} // namespace

class ConditionalTest : public DispatchTest {
protected:
   void SetUp() override
   {
      IcdTest::SetUp();
      begin_condition = device_function<PFN_vkCmdBeginConditionalRenderingEXT>(
         "vkCmdBeginConditionalRenderingEXT");
      end_condition =
         device_function<PFN_vkCmdEndConditionalRenderingEXT>("vkCmdEndConditionalRenderingEXT");
      recipe.flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
      use_one_buffer(count_runs, 256, 4);
      std::ranges::fill(out.as(), poison);
   }

   void start(VkCommandBuffer cmd, const TestBuffer &numbers, uint32_t index,
              VkConditionalRenderingFlagsEXT flags)
   {
      const VkConditionalRenderingBeginInfoEXT info = {
         .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
         .buffer = numbers.handle,
         .offset = index * sizeof(uint32_t),
         .flags = flags,
      };
      begin_condition(cmd, &info);
   }

   void bind(VkCommandBuffer cmd)
   {
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   }

   /// Adds 1 to an element.
   void count(VkCommandBuffer cmd, uint32_t number)
   {
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &number);
      vkCmdDispatch(cmd, 1, 1, 1);
   }

   /// A secondary command buffer, begun and bound.
   VkCommandBuffer begin_secondary(bool inherits)
   {
      const VkCommandBufferAllocateInfo allocation = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
         .commandPool = pool,
         .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
         .commandBufferCount = 1,
      };
      VkCommandBuffer cmd = VK_NULL_HANDLE;
      EXPECT_VK(vkAllocateCommandBuffers(device, &allocation, &cmd));
      const VkCommandBufferInheritanceConditionalRenderingInfoEXT condition = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_CONDITIONAL_RENDERING_INFO_EXT,
         .conditionalRenderingEnable = inherits,
      };
      const VkCommandBufferInheritanceInfo inheritance = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO,
         .pNext = &condition,
      };
      const VkCommandBufferBeginInfo info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
         .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
         .pInheritanceInfo = &inheritance,
      };
      EXPECT_VK(vkBeginCommandBuffer(cmd, &info));
      bind(cmd);
      return cmd;
   }

   /// Each element has its poison, and 1 for each run.
   void expect_runs(const std::vector<uint32_t> &runs)
   {
      for (uint32_t i = 0; i < out.as().size(); i++)
         EXPECT_EQ(out.as()[i], poison + (i < runs.size() ? runs[i] : 0)) << i;
   }

   PFN_vkCmdBeginConditionalRenderingEXT begin_condition = nullptr;
   PFN_vkCmdEndConditionalRenderingEXT end_condition = nullptr;
};

TEST_F(ConditionalTest, IsAFeature)
{
   VkPhysicalDeviceConditionalRenderingFeaturesEXT conditions = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT};
   VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                         .pNext = &conditions};
   vkGetPhysicalDeviceFeatures2(physical, &features);
   EXPECT_TRUE(conditions.conditionalRendering);
   EXPECT_TRUE(conditions.inheritedConditionalRendering);
}

/// All 32 bits of the number count.
TEST_F(ConditionalTest, NumbersSwitchDispatches)
{
   std::mt19937 random(cpu::test::test_seed());
   constexpr uint32_t conditions = 48;
   const TestBuffer numbers = make_buffer(conditions * sizeof(uint32_t));
   std::vector<uint32_t> runs(conditions);
   VkCommandBuffer cmd = begin_bound();
   for (uint32_t i = 0; i < conditions; i++) {
      numbers.as()[i] = random() % 2 ? 0 : 1u << random() % 32;
      const bool is_inverted = random() % 2;
      runs[i] = (numbers.as()[i] != 0) != is_inverted;
      start(cmd, numbers, i, is_inverted ? inverted : 0);
      count(cmd, i);
      end_condition(cmd);
   }
   run(cmd);
   expect_runs(runs);
}

TEST_F(ConditionalTest, EachKindOfDispatchUntilTheEnd)
{
   for (const uint32_t number : {0u, 1u}) {
      std::ranges::fill(out.as(), poison);
      const TestBuffer numbers = make_buffer(4, &number);
      const uint32_t groups[] = {1, 1, 1};
      const TestBuffer size = make_buffer(sizeof(groups), groups);
      VkCommandBuffer cmd = begin_bound();
      count(cmd, 0);
      start(cmd, numbers, 0, 0);
      count(cmd, 1);
      uint32_t element = 2;
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &element);
      vkCmdDispatchBase(cmd, 3, 2, 1, 1, 1, 1);
      element = 3;
      vkCmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &element);
      vkCmdDispatchIndirect(cmd, size.handle, 0);
      end_condition(cmd);
      vkCmdDispatch(cmd, 1, 1, 1);
      count(cmd, 4);
      run(cmd);
      expect_runs({1, number, number, number + 1, 1});
   }
}

/// Commands before the condition, in the same command buffer, decide it.
TEST_F(ConditionalTest, TheNumberIsReadWhenTheQueueGetsThere)
{
   const uint32_t before[] = {0, 1};
   const TestBuffer numbers = make_buffer(8, before);
   VkCommandBuffer cmd = begin_bound();
   vkCmdFillBuffer(cmd, numbers.handle, 0, 4, 5);
   vkCmdFillBuffer(cmd, numbers.handle, 4, 4, 0);
   for (const uint32_t i : {0u, 1u}) {
      start(cmd, numbers, i, 0);
      count(cmd, i);
      end_condition(cmd);
   }
   run(cmd);
   expect_runs({1, 0});
}

TEST_F(ConditionalTest, TransfersHaveNoCondition)
{
   const TestBuffer numbers = make_buffer(4);
   const uint32_t words[] = {7, 8};
   const TestBuffer from = make_buffer(4, words);
   VkCommandBuffer cmd = begin_bound();
   start(cmd, numbers, 0, 0);
   vkCmdFillBuffer(cmd, out.handle, 0, 4, 6);
   const VkBufferCopy copy = {0, 4, 4};
   vkCmdCopyBuffer(cmd, from.handle, out.handle, 1, &copy);
   vkCmdUpdateBuffer(cmd, out.handle, 8, 4, words + 1);
   end_condition(cmd);
   run(cmd);
   for (uint32_t i = 0; i < 4; i++)
      EXPECT_EQ(out.as()[i], i < 3 ? 6 + i : poison) << i;
}

TEST_F(ConditionalTest, SecondaryCommandBuffersInherit)
{
   const uint32_t values[] = {0, 1};
   const TestBuffer numbers = make_buffer(8, values);
   VkCommandBuffer secondary = begin_secondary(true);
   count(secondary, 0);
   EXPECT_VK(vkEndCommandBuffer(secondary));
   VkCommandBuffer nesting = begin_secondary(true);
   vkCmdExecuteCommands(nesting, 1, &secondary);
   count(nesting, 1);
   EXPECT_VK(vkEndCommandBuffer(nesting));
   VkCommandBuffer cmd = begin();
   vkCmdExecuteCommands(cmd, 1, &nesting);
   for (const uint32_t i : {0u, 1u}) {
      start(cmd, numbers, i, 0);
      vkCmdExecuteCommands(cmd, 1, &nesting);
      vkCmdExecuteCommands(cmd, 1, &secondary);
      end_condition(cmd);
   }
   run(cmd);
   expect_runs({3, 2});
}

TEST_F(ConditionalTest, SecondaryCommandBuffersHaveConditions)
{
   const TestBuffer numbers = make_buffer(4);
   VkCommandBuffer secondary = begin_secondary(false);
   start(secondary, numbers, 0, 0);
   count(secondary, 0);
   end_condition(secondary);
   count(secondary, 1);
   EXPECT_VK(vkEndCommandBuffer(secondary));
   VkCommandBuffer cmd = begin_bound();
   vkCmdExecuteCommands(cmd, 1, &secondary);
   bind(cmd);
   count(cmd, 2);
   run(cmd);
   expect_runs({0, 1, 1});
}

} // namespace weft::icd_test
