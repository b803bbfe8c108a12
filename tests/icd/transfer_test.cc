// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Copies, fills, updates, events, queries and secondary command buffers.

#include "tests/icd/fixture.h"

#include <algorithm>
#include <cstring>
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

/// A fill without a size fills all words behind the offset, also in buffers that begin in the
/// middle of their memory.
TEST_F(TransferTest, FillsFromTheMiddle)
{
   TestBuffer whole = make_buffer(256);
   const VkBufferCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = 90,
      .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
   };
   VkBuffer inner;
   ASSERT_VK(vkCreateBuffer(device, &info, nullptr, &inner));
   clean_up.push_back([=, this] { vkDestroyBuffer(device, inner, nullptr); });
   ASSERT_VK(vkBindBufferMemory(device, inner, whole.memory, 64));
   const auto check = [&](uint32_t from, uint32_t to, uint32_t value) {
      for (uint32_t i = 0; i < 64; i++)
         EXPECT_EQ(whole.as()[i], i >= from && i < to ? value : 0) << i;
      std::ranges::fill(whole.as(), 0u);
   };
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, inner, 8, VK_WHOLE_SIZE, 5);
   run(cmd);
   check(18, 38, 5);
   cmd = begin();
   vkCmdFillBuffer(cmd, inner, 12, 20, 6);
   run(cmd);
   check(19, 24, 6);
   cmd = begin();
   const uint32_t words[] = {7, 7, 7};
   vkCmdUpdateBuffer(cmd, inner, 16, 12, words);
   run(cmd);
   check(20, 23, 7);
   cmd = begin();
   vkCmdFillBuffer(cmd, inner, 4, 8, 8);
   const VkBufferCopy region = {4, 40, 8};
   vkCmdCopyBuffer(cmd, inner, inner, 1, &region);
   vkCmdFillBuffer(cmd, inner, 4, 8, 0);
   run(cmd);
   check(26, 28, 8);
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

TEST_F(TransferTest, EmptyRecordingsDoNothing)
{
   TestBuffer buffer = make_buffer(8);
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, buffer.handle, 0, 4, 1);
   run(cmd);
   buffer.as()[0] = 5;
   const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
   ASSERT_VK(vkResetCommandBuffer(cmd, 0));
   ASSERT_VK(vkBeginCommandBuffer(cmd, &info));
   run(cmd);
   EXPECT_EQ(buffer.as()[0], 5u);
   // vkBeginCommandBuffer resets the command buffer.
   ASSERT_VK(vkBeginCommandBuffer(cmd, &info));
   vkCmdFillBuffer(cmd, buffer.handle, 4, 4, 2);
   run(cmd);
   EXPECT_EQ(buffer.as()[0], 5u);
   EXPECT_EQ(buffer.as()[1], 2u);
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

/// All events have to be set, in any order.
TEST_F(EventTest, QueueWaitsForAll)
{
   constexpr uint32_t count = 3;
   for (uint32_t last = 0; last < count; last++) {
      VkEvent events[count];
      for (VkEvent &event : events)
         event = make_event();
      TestBuffer buffer = make_buffer(4);
      VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VkFence fence;
      ASSERT_VK(vkCreateFence(device, &fence_info, nullptr, &fence));
      clean_up.push_back([=, this] { vkDestroyFence(device, fence, nullptr); });
      VkCommandBuffer cmd = begin();
      vkCmdWaitEvents(cmd, count, events, VK_PIPELINE_STAGE_HOST_BIT,
                      VK_PIPELINE_STAGE_TRANSFER_BIT, 0, nullptr, 0, nullptr, 0, nullptr);
      vkCmdFillBuffer(cmd, buffer.handle, 0, 4, 7);
      ASSERT_VK(vkEndCommandBuffer(cmd));
      for (uint32_t i = 0; i < count; i++) {
         if (i != last) {
            EXPECT_VK(vkSetEvent(device, events[i]));
         }
      }
      ASSERT_VK(submit(cmd, fence));
      EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 50'000'000), VK_TIMEOUT);
      EXPECT_EQ(buffer.as()[0], 0u);
      EXPECT_VK(vkSetEvent(device, events[last]));
      EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
      EXPECT_EQ(buffer.as()[0], 7u);
   }
}

class TimestampTest : public IcdTest {
protected:
   VkQueryPool make_timestamps(uint32_t count)
   {
      return make_query_pool(VK_QUERY_TYPE_TIMESTAMP, count);
   }
};

TEST_F(TimestampTest, RisesAndIsNotReadyBefore)
{
   VkQueryPool queries = make_timestamps(4);
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
   VkQueryPool queries = make_timestamps(2);
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
   VkQueryPool queries = make_timestamps(1);
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

/// The place of each number, in 32 and 64 bits, with and without availability: behind an offset,
/// with any stride, and from any query on.
TEST_F(TimestampTest, ResultsLieWhereTheyAreAskedFor)
{
   constexpr uint32_t count = 5;
   VkQueryPool queries = make_timestamps(count);
   VkCommandBuffer cmd = begin();
   vkCmdResetQueryPool(cmd, queries, 0, count);
   for (const uint32_t written : {0u, 1u, 3u, 4u})
      vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, written);
   run(cmd);
   uint64_t times[count] = {};
   EXPECT_EQ(vkGetQueryPoolResults(device, queries, 0, count, sizeof(times), times, 8,
                                   VK_QUERY_RESULT_64_BIT),
             VK_NOT_READY);

   constexpr uint32_t first = 1, copied = 3;
   constexpr VkDeviceSize offset = 24, stride = 40, size = 256;
   for (const VkQueryResultFlags flags :
        {VkQueryResultFlags(0), VkQueryResultFlags(VK_QUERY_RESULT_64_BIT),
         VkQueryResultFlags(VK_QUERY_RESULT_WITH_AVAILABILITY_BIT),
         VkQueryResultFlags(VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)}) {
      const bool wide = flags & VK_QUERY_RESULT_64_BIT;
      const size_t word = wide ? 8 : 4;
      std::vector<uint8_t> expected(size, 0xa5);
      const auto put = [&](VkDeviceSize at, uint64_t value) {
         memcpy(&expected[at], &value, word);
      };
      for (uint32_t i = 0; i < copied; i++) {
         const bool available = first + i != 2;
         if (available)
            put(offset + i * stride, times[first + i]);
         if (flags & VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
            put(offset + i * stride + word, available);
      }
      const std::vector<uint8_t> poison(size, 0xa5);
      TestBuffer buffer = make_buffer(size, poison.data());
      cmd = begin();
      vkCmdCopyQueryPoolResults(cmd, queries, first, copied, buffer.handle, offset, stride, flags);
      run(cmd);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), buffer.map)) << flags;

      std::vector<uint8_t> got = poison;
      EXPECT_EQ(vkGetQueryPoolResults(device, queries, first, copied, size - offset, &got[offset],
                                      stride, flags),
                VK_NOT_READY);
      EXPECT_EQ(got, expected) << flags;
   }
}

/// A reset concerns the queries that it names.
TEST_F(TimestampTest, ResetsOfRanges)
{
   constexpr uint32_t count = 6;
   VkQueryPool queries = make_timestamps(count);
   for (const bool on_host : {false, true}) {
      VkCommandBuffer cmd = begin();
      vkCmdResetQueryPool(cmd, queries, 0, count);
      for (uint32_t i = 0; i < count; i++)
         vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, i);
      if (!on_host)
         vkCmdResetQueryPool(cmd, queries, 2, 3);
      run(cmd);
      if (on_host)
         vkResetQueryPool(device, queries, 2, 3);
      uint64_t previous = 0;
      for (uint32_t i = 0; i < count; i++) {
         uint64_t value = 0;
         const bool is_reset = i >= 2 && i < 5;
         EXPECT_EQ(
            vkGetQueryPoolResults(device, queries, i, 1, 8, &value, 8, VK_QUERY_RESULT_64_BIT),
            is_reset ? VK_NOT_READY : VK_SUCCESS)
            << i;
         if (!is_reset) {
            EXPECT_GE(value, previous);
            previous = value;
         }
      }
   }
}

/// A pool refuses other kinds of queries by a code that the command may return.
TEST_F(TimestampTest, OtherKindsOfQueriesAreRefused)
{
   const VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
      .queryType = VK_QUERY_TYPE_OCCLUSION,
      .queryCount = 1,
   };
   VkQueryPool queries = VK_NULL_HANDLE;
   EXPECT_EQ(vkCreateQueryPool(device, &info, nullptr, &queries), VK_ERROR_UNKNOWN);
   EXPECT_NE(messages.find("queries of this kind need graphics"), std::string::npos);
}

} // namespace weft::icd_test
