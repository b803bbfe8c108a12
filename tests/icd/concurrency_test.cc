// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Threads that use one device or several at once, and hosts that the queue waits for.

#include "tests/icd/concurrency_fixture.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <unistd.h>
#include <utility>

namespace weft::icd_test {

TEST_F(ConcurrencyTest, DevicesDispatchAtOnce)
{
   const std::vector<uint32_t> spirv = compile(turn_round);
   // GoogleTest requires that the main thread creates a test's objects.
   std::vector<std::unique_ptr<AnotherDevice>> devices;
   for (int t = 0; t < 3; t++)
      devices.push_back(std::make_unique<AnotherDevice>());
   std::vector<std::thread> threads;
   for (uint32_t t = 0; t < 3; t++) {
      threads.emplace_back([&, t] {
         AnotherDevice &other = *devices[t];
         Turner turner(other, spirv);
         uint32_t sum = 0;
         for (uint32_t round = 0; round < 20; round++) {
            VkCommandBuffer cmd = other.begin();
            for (uint32_t i = 0; i < 4; i++)
               turner.record(cmd, round + t + i);
            other.run(cmd);
            sum += 4 * (round + t) + 6;
            turner.check(sum);
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
}

TEST_F(ConcurrencyTest, HostSetsAnEventThatTheQueueWaitsFor)
{
   VkEvent event = make_event();
   VkFence fence = make_fence();
   TestBuffer buffer = make_buffer(4);
   VkCommandBuffer cmd = begin();
   wait_for_host(cmd, event);
   vkCmdFillBuffer(cmd, buffer.handle, 0, 4, 7);
   ASSERT_VK(vkEndCommandBuffer(cmd));
   ASSERT_VK(submit(cmd, fence));
   EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 20'000'000), VK_TIMEOUT);
   std::thread host([&] { EXPECT_VK(vkSetEvent(device, event)); });
   EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
   host.join();
   EXPECT_EQ(buffer.as()[0], 7u);
}

/// Successive polls pause, but see a new status.
TEST_F(ConcurrencyTest, EventIsPolledInALoop)
{
   VkEvent go = make_event(), event = make_event();
   VkFence fence = make_fence();
   VkCommandBuffer cmd = begin();
   wait_for_host(cmd, go);
   vkCmdSetEvent(cmd, event, VK_PIPELINE_STAGE_TRANSFER_BIT);
   ASSERT_VK(vkEndCommandBuffer(cmd));
   ASSERT_VK(submit(cmd, fence));
   for (int i = 0; i < 50; i++)
      ASSERT_EQ(vkGetEventStatus(device, event), VK_EVENT_RESET);
   std::thread host([&] { EXPECT_VK(vkSetEvent(device, go)); });
   while (vkGetEventStatus(device, event) == VK_EVENT_RESET)
      continue;
   host.join();
   EXPECT_EQ(vkGetEventStatus(device, event), VK_EVENT_SET);
   EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
}

/// The test runs with each of the two queries as the last one.
TEST_F(ConcurrencyTest, QueriesAreWaitedForBeforeTheyAreWritten)
{
   for (const auto &order : {std::array{0, 1}, std::array{1, 0}}) {
      VkQueryPool queries = make_queries(2);
      uint64_t values[2] = {};
      std::atomic<bool> done = false;
      WaitingThread waiter([&] {
         EXPECT_VK(vkGetQueryPoolResults(device, queries, 0, 2, sizeof(values), values, 8,
                                         VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
         done = true;
      });
      for (const uint32_t query : order) {
         waiter.wait_until_it_waits();
         EXPECT_FALSE(done);
         VkCommandBuffer cmd = begin();
         vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query);
         run(cmd);
      }
      waiter.join();
      EXPECT_GT(values[order[0]], 0u);
      EXPECT_GT(values[order[1]], values[order[0]]);
   }
}

/// Threads that signal, wait for and read the same timeline, while the queue does too.
TEST_F(ConcurrencyTest, ThreadsMeetAtATimeline)
{
   const VkSemaphore semaphore = make_timeline();

   // The host signals odd values, the queue the even ones.
   constexpr uint64_t last = 100;
   std::vector<std::thread> threads;
   for (int t = 0; t < 3; t++) {
      threads.emplace_back([&] {
         for (uint64_t wanted = 1; wanted <= last; wanted++) {
            VkSemaphoreWaitInfo wait = {
               .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
               .semaphoreCount = 1,
               .pSemaphores = &semaphore,
               .pValues = &wanted,
            };
            ASSERT_VK(vkWaitSemaphores(device, &wait, wait_limit));
            uint64_t value = 0;
            ASSERT_VK(vkGetSemaphoreCounterValue(device, semaphore, &value));
            ASSERT_GE(value, wanted);
         }
      });
   }
   for (uint64_t value = 2; value <= last; value += 2) {
      const uint64_t before = value - 1;
      VkTimelineSemaphoreSubmitInfo values = {
         .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
         .waitSemaphoreValueCount = 1,
         .pWaitSemaphoreValues = &before,
         .signalSemaphoreValueCount = 1,
         .pSignalSemaphoreValues = &value,
      };
      VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
      VkSubmitInfo submit_info = {
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
         .pNext = &values,
         .waitSemaphoreCount = 1,
         .pWaitSemaphores = &semaphore,
         .pWaitDstStageMask = &stage,
         .signalSemaphoreCount = 1,
         .pSignalSemaphores = &semaphore,
      };
      ASSERT_VK(vkQueueSubmit(queue, 1, &submit_info, VK_NULL_HANDLE));
      VkSemaphoreSignalInfo signal = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
         .semaphore = semaphore,
         .value = before,
      };
      ASSERT_VK(vkSignalSemaphore(device, &signal));
      VkSemaphoreWaitInfo wait = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
         .semaphoreCount = 1,
         .pSemaphores = &semaphore,
         .pValues = &value,
      };
      ASSERT_VK(vkWaitSemaphores(device, &wait, wait_limit));
   }
   for (std::thread &thread : threads)
      thread.join();
}

} // namespace weft::icd_test
