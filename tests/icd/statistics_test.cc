// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Queries of pipeline statistics.

#include "tests/icd/dispatch_fixture.h"

#include <array>

namespace weft::icd_test {

class StatisticsTest : public DispatchTest {
protected:
   static constexpr VkQueryPipelineStatisticFlags
      compute = VK_QUERY_PIPELINE_STATISTIC_COMPUTE_SHADER_INVOCATIONS_BIT,
      graphics = VK_QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT |
                 VK_QUERY_PIPELINE_STATISTIC_FRAGMENT_SHADER_INVOCATIONS_BIT,
      mesh = VK_QUERY_PIPELINE_STATISTIC_TESSELLATION_CONTROL_SHADER_PATCHES_BIT;

   VkQueryPool make_pool(uint32_t count, VkQueryPipelineStatisticFlags statistics)
   {
      return make_query_pool(VK_QUERY_TYPE_PIPELINE_STATISTICS, count, statistics);
   }

   /// A shader with workgroups of 3 x 2 x 5.
   void use_shader()
   {
      use_one_buffer(R"(
         layout(local_size_x = 3, local_size_y = 2, local_size_z = 5) in;
         layout(binding = 0) buffer Out { uint data[]; };
         void main() { data[0] = 1; })",
                     64);
   }
};

TEST_F(StatisticsTest, ComputeInvocations)
{
   use_shader();
   const VkQueryPool queries = make_pool(3, compute);
   const TestBuffer size = make_buffer(12);
   for (uint32_t i = 0; i < 3; i++)
      size.as()[i] = i + 1;
   VkCommandBuffer cmd = begin_bound();
   vkCmdResetQueryPool(cmd, queries, 0, 3);
   vkCmdDispatch(cmd, 7, 7, 7);
   vkCmdBeginQuery(cmd, queries, 0, 0);
   vkCmdDispatch(cmd, 2, 1, 1);
   vkCmdEndQuery(cmd, queries, 0);
   vkCmdBeginQuery(cmd, queries, 1, 0);
   vkCmdEndQuery(cmd, queries, 1);
   vkCmdBeginQuery(cmd, queries, 2, 0);
   vkCmdDispatch(cmd, 1, 3, 1);
   vkCmdDispatchIndirect(cmd, size.handle, 0);
   vkCmdDispatch(cmd, 0, 3, 1);
   vkCmdEndQuery(cmd, queries, 2);
   vkCmdDispatch(cmd, 7, 7, 7);
   const TestBuffer copies = make_buffer(3 * 16);
   vkCmdCopyQueryPoolResults(cmd, queries, 0, 3, copies.handle, 0, 16,
                             VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
   run(cmd);
   std::array<uint32_t, 3> numbers = {};
   EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 3, sizeof(numbers), numbers.data(), 4, 0));
   EXPECT_EQ(numbers, (std::array<uint32_t, 3>{60, 0, 9 * 30}));
   for (uint32_t i = 0; i < 3; i++) {
      EXPECT_EQ(copies.as<uint64_t>()[2 * i], numbers[i]);
      EXPECT_EQ(copies.as<uint64_t>()[2 * i + 1], 1u);
   }
}

TEST_F(StatisticsTest, SecondariesRunWithinAQuery)
{
   use_shader();
   const VkQueryPool queries = make_pool(1, compute);
   const VkCommandBuffer secondary =
      vulkan::begin_commands(device, pool, 0, VK_COMMAND_BUFFER_LEVEL_SECONDARY);
   vkCmdBindPipeline(secondary, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(secondary, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                           nullptr);
   vkCmdDispatch(secondary, 4, 1, 1);
   EXPECT_VK(vkEndCommandBuffer(secondary));
   VkCommandBuffer cmd = begin_bound();
   vkCmdResetQueryPool(cmd, queries, 0, 1);
   vkCmdBeginQuery(cmd, queries, 0, 0);
   vkCmdExecuteCommands(cmd, 1, &secondary);
   vkCmdEndQuery(cmd, queries, 0);
   run(cmd);
   uint64_t number = 0;
   EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 1, 8, &number, 8, VK_QUERY_RESULT_64_BIT));
   EXPECT_EQ(number, 120u);
}

TEST_F(StatisticsTest, NumbersOfGraphicsAreZero)
{
   use_shader();
   const VkQueryPool queries = make_pool(1, graphics | compute | mesh);
   VkCommandBuffer cmd = begin_bound();
   vkCmdResetQueryPool(cmd, queries, 0, 1);
   vkCmdBeginQuery(cmd, queries, 0, 0);
   vkCmdDispatch(cmd, 1, 1, 1);
   vkCmdEndQuery(cmd, queries, 0);
   run(cmd);
   std::array<uint32_t, 5> numbers;
   numbers.fill(7);
   EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 1, sizeof(numbers), numbers.data(), 20,
                                   VK_QUERY_RESULT_WITH_AVAILABILITY_BIT));
   // In the order of their bits.
   EXPECT_EQ(numbers, (std::array<uint32_t, 5>{0, 0, 0, 30, 1}));
}

TEST_F(StatisticsTest, QueriesWithoutResult)
{
   const VkQueryPool queries = make_pool(1, compute);
   vkResetQueryPool(device, queries, 0, 1);
   std::array<uint32_t, 2> numbers = {7, 7};
   constexpr VkQueryResultFlags available = VK_QUERY_RESULT_WITH_AVAILABILITY_BIT;
   EXPECT_EQ(vkGetQueryPoolResults(device, queries, 0, 1, 8, numbers.data(), 8, available),
             VK_NOT_READY);
   EXPECT_EQ(numbers, (std::array<uint32_t, 2>{7, 0}));
   vkGetQueryPoolResults(device, queries, 0, 1, 8, numbers.data(), 8,
                         available | VK_QUERY_RESULT_PARTIAL_BIT);
   EXPECT_EQ(numbers, (std::array<uint32_t, 2>{0, 0}));
}

} // namespace weft::icd_test
