// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies, fills, updates, events, queries and secondary command buffers.

#include "tests/icd/fixture.h"

#include <numeric>

namespace weft::icd_test {

using TransferTest = IcdTest;

TEST_F(TransferTest, CopiesRegions)
{
   std::vector<uint32_t> numbers(1000);
   std::iota(numbers.begin(), numbers.end(), 1);
   TestBuffer src = make_buffer(4000, numbers.data());
   TestBuffer dst = make_buffer(4000);
   VkCommandBuffer cmd = begin();
   VkBufferCopy regions[] = {{0, 400, 40}, {3999, 0, 1}, {800, 1201, 7}};
   vkCmdCopyBuffer(cmd, src.handle, dst.handle, 3, regions);
   run(cmd);
   for (uint32_t i = 0; i < 4000; i++) {
      uint8_t expected = 0;
      for (const VkBufferCopy &r : regions) {
         if (i >= r.dstOffset && i < r.dstOffset + r.size)
            expected = src.map[r.srcOffset + i - r.dstOffset];
      }
      ASSERT_EQ(dst.map[i], expected) << i;
   }
}

TEST_F(TransferTest, FillsWholeWordsOnly)
{
   TestBuffer buffer = make_buffer(103);
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, buffer.handle, 4, VK_WHOLE_SIZE, 0x01020304);
   run(cmd);
   EXPECT_EQ(buffer.as()[0], 0u);
   for (uint32_t i = 1; i < 25; i++)
      EXPECT_EQ(buffer.as()[i], 0x01020304u);
   for (uint32_t i = 100; i < 103; i++)
      EXPECT_EQ(buffer.map[i], 0) << i;
}

TEST_F(TransferTest, UpdateTakesTheDataWhenRecorded)
{
   TestBuffer buffer = make_buffer(65536 + 64);
   std::vector<uint8_t> data(65536);
   std::iota(data.begin(), data.end(), 0);
   VkCommandBuffer cmd = begin();
   vkCmdUpdateBuffer(cmd, buffer.handle, 32, data.size(), data.data());
   std::vector<uint8_t> kept = data;
   std::fill(data.begin(), data.end(), 0);
   run(cmd);
   EXPECT_TRUE(std::equal(kept.begin(), kept.end(), buffer.map + 32));
   EXPECT_EQ(buffer.map[31], 0);
   EXPECT_EQ(buffer.map[32 + 65536], 0);
}

TEST_F(TransferTest, SecondariesRunInOrderAndMoreThanOnce)
{
   TestBuffer buffer = make_buffer(64);
   VkCommandBuffer first =
      begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
   vkCmdFillBuffer(first, buffer.handle, 0, 32, 1);
   ASSERT_VK(vkEndCommandBuffer(first));
   VkCommandBuffer second = begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
   vkCmdFillBuffer(second, buffer.handle, 16, 32, 2);
   ASSERT_VK(vkEndCommandBuffer(second));
   VkCommandBuffer cmd = begin();
   VkCommandBuffer both[] = {first, second};
   vkCmdExecuteCommands(cmd, 2, both);
   vkCmdExecuteCommands(cmd, 1, both);
   run(cmd);
   for (uint32_t i = 0; i < 16; i++)
      EXPECT_EQ(buffer.as()[i], i < 8 ? 1u : i < 12 ? 2u : 0u) << i;
}

TEST_F(TransferTest, ManyCommandsAndResets)
{
   TestBuffer buffer = make_buffer(4096);
   VkCommandBuffer cmd = begin();
   for (uint32_t round = 0; round < 3; round++) {
      for (uint32_t i = 0; i < 20000; i++) {
         uint32_t value = i + round;
         vkCmdUpdateBuffer(cmd, buffer.handle, (i % 1024) * 4, 4, &value);
      }
      run(cmd);
      for (uint32_t i = 0; i < 1024; i++) {
         uint32_t last = i + (19999 - i) / 1024 * 1024;
         ASSERT_EQ(buffer.as()[i], last + round);
      }
      ASSERT_VK(
         vkResetCommandBuffer(cmd, round == 1 ? VK_COMMAND_BUFFER_RESET_RELEASE_RESOURCES_BIT : 0));
      VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
      ASSERT_VK(vkBeginCommandBuffer(cmd, &info));
   }
   ASSERT_VK(vkEndCommandBuffer(cmd));
   ASSERT_VK(vkResetCommandPool(device, pool, VK_COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT));
   vkTrimCommandPool(device, pool, 0);
}

class EventTest : public IcdTest {
protected:
   VkEvent make_event()
   {
      VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
      VkEvent event;
      EXPECT_VK(vkCreateEvent(device, &info, nullptr, &event));
      clean_up.push_back([this, event] { vkDestroyEvent(device, event, nullptr); });
      return event;
   }
};

TEST_F(EventTest, HostSetsAndResets)
{
   VkEvent event = make_event();
   EXPECT_EQ(vkGetEventStatus(device, event), VK_EVENT_RESET);
   EXPECT_VK(vkSetEvent(device, event));
   EXPECT_EQ(vkGetEventStatus(device, event), VK_EVENT_SET);
   EXPECT_VK(vkResetEvent(device, event));
   EXPECT_EQ(vkGetEventStatus(device, event), VK_EVENT_RESET);
}

TEST_F(EventTest, QueueSetsAndResets)
{
   VkEvent a = make_event(), b = make_event();
   VkCommandBuffer cmd = begin();
   vkCmdSetEvent(cmd, a, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
   vkCmdWaitEvents(cmd, 1, &a, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                   0, nullptr, 0, nullptr, 0, nullptr);
   vkCmdResetEvent(cmd, a, VK_PIPELINE_STAGE_TRANSFER_BIT);
   vkCmdSetEvent(cmd, b, VK_PIPELINE_STAGE_TRANSFER_BIT);
   run(cmd);
   EXPECT_EQ(vkGetEventStatus(device, a), VK_EVENT_RESET);
   EXPECT_EQ(vkGetEventStatus(device, b), VK_EVENT_SET);
}

class TimestampTest : public IcdTest {
protected:
   VkQueryPool make_query_pool(uint32_t count)
   {
      VkQueryPoolCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
         .queryType = VK_QUERY_TYPE_TIMESTAMP,
         .queryCount = count,
      };
      VkQueryPool queries;
      EXPECT_VK(vkCreateQueryPool(device, &info, nullptr, &queries));
      clean_up.push_back([this, queries] { vkDestroyQueryPool(device, queries, nullptr); });
      return queries;
   }
};

TEST_F(TimestampTest, RisesAndIsNotReadyBefore)
{
   VkQueryPool queries = make_query_pool(4);
   vkResetQueryPool(device, queries, 0, 4);
   uint64_t values[4][2] = {};
   EXPECT_EQ(vkGetQueryPoolResults(device, queries, 0, 4, sizeof(values), values, 16,
                                   VK_QUERY_RESULT_64_BIT),
             VK_NOT_READY);

   TestBuffer copied = make_buffer(64);
   VkCommandBuffer cmd = begin();
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2);
   vkCmdCopyQueryPoolResults(cmd, queries, 0, 4, copied.handle, 0, 16,
                             VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
   run(cmd);

   EXPECT_EQ(vkGetQueryPoolResults(device, queries, 0, 4, sizeof(values), values, 16,
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT),
             VK_NOT_READY);
   EXPECT_EQ(values[0][1], 1u);
   EXPECT_EQ(values[1][1], 0u);
   EXPECT_EQ(values[2][1], 1u);
   EXPECT_EQ(values[3][1], 0u);
   EXPECT_GT(values[0][0], 0u);
   EXPECT_LE(values[0][0], values[2][0]);
   EXPECT_EQ(copied.as<uint64_t>()[0], values[0][0]);
   EXPECT_EQ(copied.as<uint64_t>()[4], values[2][0]);
   EXPECT_EQ(copied.as<uint64_t>()[3], 0u);

   uint32_t narrow = 0;
   EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 1, 4, &narrow, 4, VK_QUERY_RESULT_WAIT_BIT));
   EXPECT_EQ(narrow, uint32_t(values[0][0]));
}

TEST_F(TimestampTest, ResetOnTheQueue)
{
   VkQueryPool queries = make_query_pool(2);
   VkCommandBuffer cmd = begin();
   vkCmdResetQueryPool(cmd, queries, 0, 2);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 1);
   vkCmdResetQueryPool(cmd, queries, 1, 1);
   run(cmd);
   uint64_t value;
   EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 1, 8, &value, 8, VK_QUERY_RESULT_64_BIT));
   EXPECT_EQ(vkGetQueryPoolResults(device, queries, 1, 1, 8, &value, 8, VK_QUERY_RESULT_64_BIT),
             VK_NOT_READY);
}

TEST_F(TimestampTest, AgreesWithCalibratedTimestamps)
{
   VkQueryPool queries = make_query_pool(1);
   auto calibrate =
      device_function<PFN_vkGetCalibratedTimestampsEXT>("vkGetCalibratedTimestampsEXT");
   ASSERT_NE(calibrate, nullptr);
   VkCalibratedTimestampInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
      .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT,
   };
   uint64_t before, after, deviation, value;
   ASSERT_VK(calibrate(device, 1, &info, &before, &deviation));
   VkCommandBuffer cmd = begin();
   vkCmdResetQueryPool(cmd, queries, 0, 1);
   vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
   run(cmd);
   ASSERT_VK(calibrate(device, 1, &info, &after, &deviation));
   ASSERT_VK(vkGetQueryPoolResults(device, queries, 0, 1, 8, &value, 8, VK_QUERY_RESULT_64_BIT));
   EXPECT_LE(before, value);
   EXPECT_LE(value, after);
}

} // namespace weft::icd_test
