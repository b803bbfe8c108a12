// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Fences and semaphores.

#include "tests/icd/fixture.h"

#include <atomic>
#include <chrono>
#include <sys/resource.h>
#include <thread>

namespace weft::icd_test {

class SyncTest : public IcdTest {
protected:
   VkFence make_fence(VkFenceCreateFlags flags = 0)
   {
      VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = flags};
      VkFence fence;
      EXPECT_VK(vkCreateFence(device, &info, nullptr, &fence));
      clean_up.push_back([this, fence] { vkDestroyFence(device, fence, nullptr); });
      return fence;
   }

   VkSemaphore make_semaphore(bool timeline, uint64_t value = 0)
   {
      VkSemaphoreTypeCreateInfo type = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
         .semaphoreType = timeline ? VK_SEMAPHORE_TYPE_TIMELINE : VK_SEMAPHORE_TYPE_BINARY,
         .initialValue = value,
      };
      VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                    .pNext = &type};
      VkSemaphore semaphore;
      EXPECT_VK(vkCreateSemaphore(device, &info, nullptr, &semaphore));
      clean_up.push_back([this, semaphore] { vkDestroySemaphore(device, semaphore, nullptr); });
      return semaphore;
   }

   /// Submits a command buffer (or none) between a wait and a signal; a value of 0 means no
   /// semaphore.
   VkResult submit(VkCommandBuffer cmd, VkSemaphore wait, uint64_t wait_value, VkSemaphore signal,
                   uint64_t signal_value, VkFence fence = VK_NULL_HANDLE)
   {
      VkSemaphoreSubmitInfo wait_info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
         .semaphore = wait,
         .value = wait_value,
         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
      };
      VkSemaphoreSubmitInfo signal_info = wait_info;
      signal_info.semaphore = signal;
      signal_info.value = signal_value;
      VkCommandBufferSubmitInfo cmd_info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
         .commandBuffer = cmd,
      };
      VkSubmitInfo2 info = {
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
         .waitSemaphoreInfoCount = wait ? 1u : 0u,
         .pWaitSemaphoreInfos = &wait_info,
         .commandBufferInfoCount = cmd ? 1u : 0u,
         .pCommandBufferInfos = &cmd_info,
         .signalSemaphoreInfoCount = signal ? 1u : 0u,
         .pSignalSemaphoreInfos = &signal_info,
      };
      return vkQueueSubmit2(queue, 1, &info, fence);
   }

   VkResult wait(VkSemaphore semaphore, uint64_t value, uint64_t timeout)
   {
      VkSemaphoreWaitInfo info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
         .semaphoreCount = 1,
         .pSemaphores = &semaphore,
         .pValues = &value,
      };
      return vkWaitSemaphores(device, &info, timeout);
   }

   void signal(VkSemaphore semaphore, uint64_t value)
   {
      VkSemaphoreSignalInfo info = {
         .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
         .semaphore = semaphore,
         .value = value,
      };
      EXPECT_VK(vkSignalSemaphore(device, &info));
   }
};

TEST_F(SyncTest, FenceLifeCycle)
{
   VkFence fence = make_fence();
   EXPECT_EQ(vkGetFenceStatus(device, fence), VK_NOT_READY);
   EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 0), VK_TIMEOUT);
   EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 1000000), VK_TIMEOUT);
   for (int i = 0; i < 100; i++) {
      ASSERT_VK(vkQueueSubmit(queue, 0, nullptr, fence));
      ASSERT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
      EXPECT_VK(vkGetFenceStatus(device, fence));
      ASSERT_VK(vkResetFences(device, 1, &fence));
      EXPECT_EQ(vkGetFenceStatus(device, fence), VK_NOT_READY);
   }
   EXPECT_VK(vkGetFenceStatus(device, make_fence(VK_FENCE_CREATE_SIGNALED_BIT)));
}

/// A program that gives up destroys semaphores without waiting for such submissions.
TEST_F(SyncTest, SubmissionsWithoutWorkEndAtOnce)
{
   const VkSemaphore before = make_semaphore(true), after = make_semaphore(true),
                     behind = make_semaphore(true);
   const auto value_of = [&](VkSemaphore semaphore) {
      uint64_t value = 0;
      EXPECT_VK(vkGetSemaphoreCounterValue(device, semaphore, &value));
      return value;
   };
   const VkFence fence = make_fence();
   ASSERT_VK(submit(VK_NULL_HANDLE, VK_NULL_HANDLE, 0, before, 1, fence));
   EXPECT_EQ(value_of(before), 1u);
   EXPECT_VK(vkGetFenceStatus(device, fence));

   // But not before earlier ones.
   ASSERT_VK(submit(VK_NULL_HANDLE, before, 2, after, 1));
   ASSERT_VK(submit(VK_NULL_HANDLE, VK_NULL_HANDLE, 0, behind, 1));
   EXPECT_EQ(wait(behind, 1, 20000000), VK_TIMEOUT);
   EXPECT_EQ(value_of(after), 0u);
   signal(before, 2);
   EXPECT_VK(wait(behind, 1, wait_limit));
   EXPECT_EQ(value_of(after), 1u);
}

TEST_F(SyncTest, WaitForAnyFence)
{
   VkFence fences[] = {make_fence(), make_fence(), make_fence()};
   EXPECT_EQ(vkWaitForFences(device, 3, fences, VK_FALSE, 1000), VK_TIMEOUT);
   ASSERT_VK(vkQueueSubmit(queue, 0, nullptr, fences[1]));
   EXPECT_VK(vkWaitForFences(device, 3, fences, VK_FALSE, wait_limit));
   EXPECT_EQ(vkWaitForFences(device, 3, fences, VK_TRUE, 1000), VK_TIMEOUT);
}

TEST_F(SyncTest, TimelineIsWaitedForBeforeItIsSignalled)
{
   VkSemaphore a = make_semaphore(true), b = make_semaphore(true, 5);
   TestBuffer buffer = make_buffer(4);
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, buffer.handle, 0, 4, 9);
   ASSERT_VK(vkEndCommandBuffer(cmd));

   // vkQueueSubmit must return before the signal.
   ASSERT_VK(submit(cmd, a, 3, b, 6));
   EXPECT_EQ(wait(b, 6, 20000000), VK_TIMEOUT);
   EXPECT_EQ(buffer.as()[0], 0u);
   signal(a, 2);
   EXPECT_EQ(wait(b, 6, 20000000), VK_TIMEOUT);
   signal(a, 3);
   EXPECT_VK(wait(b, 6, wait_limit));
   EXPECT_EQ(buffer.as()[0], 9u);
   uint64_t value = 0;
   EXPECT_VK(vkGetSemaphoreCounterValue(device, b, &value));
   EXPECT_EQ(value, 6u);
   EXPECT_VK(wait(b, 0, 0));
}

/// Successive polls pause, but see a new status.
TEST_F(SyncTest, CounterIsPolledInALoop)
{
   VkSemaphore a = make_semaphore(true), b = make_semaphore(true, 5);
   const auto value = [&] {
      uint64_t value = 0;
      EXPECT_VK(vkGetSemaphoreCounterValue(device, b, &value));
      return value;
   };
   ASSERT_VK(submit(VK_NULL_HANDLE, a, 1, b, 6));
   for (int i = 0; i < 50; i++)
      ASSERT_EQ(value(), 5u);
   std::thread other([&] { signal(a, 1); });
   while (value() == 5)
      continue;
   other.join();
   EXPECT_EQ(value(), 6u);
}

/// A wait with a timeout of zero is a poll.
TEST_F(SyncTest, WaitsOfNoTimeAreAskedInALoop)
{
   VkSemaphore a = make_semaphore(true), b = make_semaphore(true);
   ASSERT_VK(submit(VK_NULL_HANDLE, a, 1, b, 1));
   for (int i = 0; i < 50; i++)
      ASSERT_EQ(wait(b, 1, 0), VK_TIMEOUT);
   std::thread other([&] { signal(a, 1); });
   while (wait(b, 1, 0) == VK_TIMEOUT)
      continue;
   other.join();
   EXPECT_VK(wait(b, 1, 0));
}

TEST_F(SyncTest, WaitForAnyTimeline)
{
   VkSemaphore semaphores[] = {make_semaphore(true), make_semaphore(true)};
   uint64_t values[] = {1, 1};
   VkSemaphoreWaitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
      .flags = VK_SEMAPHORE_WAIT_ANY_BIT,
      .semaphoreCount = 2,
      .pSemaphores = semaphores,
      .pValues = values,
   };
   EXPECT_EQ(vkWaitSemaphores(device, &info, 1000), VK_TIMEOUT);
   std::thread other([&] { signal(semaphores[1], 1); });
   EXPECT_VK(vkWaitSemaphores(device, &info, wait_limit));
   info.flags = 0;
   EXPECT_EQ(vkWaitSemaphores(device, &info, 1000), VK_TIMEOUT);
   other.join();
}

/// Each wait resets the semaphore, so that it can be signalled and waited for again while all
/// submissions are pending. The queue runs them in order.
TEST_F(SyncTest, BinarySemaphoresAreUsedAgain)
{
   constexpr uint32_t count = 20;
   const VkSemaphore start = make_semaphore(true), semaphore = make_semaphore(false);
   const VkFence fence = make_fence();
   TestBuffer buffer = make_buffer(count * 4);
   for (uint32_t i = 0; i < count; i++) {
      VkCommandBuffer cmd = begin();
      vkCmdFillBuffer(cmd, buffer.handle, i * 4, 4, i + 1);
      ASSERT_VK(vkEndCommandBuffer(cmd));
      ASSERT_VK(submit(cmd, i > 0 ? semaphore : start, 1, semaphore, 0));
   }
   ASSERT_VK(submit(VK_NULL_HANDLE, semaphore, 0, VK_NULL_HANDLE, 0, fence));
   EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 20'000'000), VK_TIMEOUT);
   for (uint32_t i = 0; i < count; i++)
      EXPECT_EQ(buffer.as()[i], 0u) << i;
   signal(start, 1);
   ASSERT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
   for (uint32_t i = 0; i < count; i++)
      EXPECT_EQ(buffer.as()[i], i + 1) << i;
}

/// A submission waits for all of its semaphores, in any order of signals, and signals all of them.
TEST_F(SyncTest, SubmissionsWaitForAllSemaphores)
{
   constexpr uint32_t count = 3;
   for (uint32_t last = 0; last < count; last++) {
      VkSemaphoreSubmitInfo waits[count], signals[count];
      for (uint32_t i = 0; i < count; i++) {
         waits[i] = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
            .semaphore = make_semaphore(true, i),
            .value = 5 + i,
            .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
         };
         signals[i] = waits[i];
         signals[i].semaphore = make_semaphore(true, 10);
         signals[i].value = 20 + i;
      }
      TestBuffer buffer = make_buffer(4);
      VkCommandBuffer cmd = begin();
      vkCmdFillBuffer(cmd, buffer.handle, 0, 4, 9);
      ASSERT_VK(vkEndCommandBuffer(cmd));
      const VkCommandBufferSubmitInfo cmd_info = {
         .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
         .commandBuffer = cmd,
      };
      const VkSubmitInfo2 info = {
         .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
         .waitSemaphoreInfoCount = count,
         .pWaitSemaphoreInfos = waits,
         .commandBufferInfoCount = 1,
         .pCommandBufferInfos = &cmd_info,
         .signalSemaphoreInfoCount = count,
         .pSignalSemaphoreInfos = signals,
      };
      const VkFence fence = make_fence();
      // One semaphore is not signalled, one has too small a value, and the semaphores behind `last`
      // are signalled already.
      for (uint32_t i = last + 1; i < count; i++)
         signal(waits[i].semaphore, waits[i].value);
      ASSERT_VK(vkQueueSubmit2(queue, 1, &info, fence));
      for (uint32_t i = 0; i < last; i++)
         signal(waits[i].semaphore, waits[i].value + 3);
      signal(waits[last].semaphore, waits[last].value - 1);
      EXPECT_EQ(vkWaitForFences(device, 1, &fence, VK_TRUE, 50'000'000), VK_TIMEOUT);
      EXPECT_EQ(buffer.as()[0], 0u);
      uint64_t value = 0;
      EXPECT_VK(vkGetSemaphoreCounterValue(device, signals[0].semaphore, &value));
      EXPECT_EQ(value, 10u);

      signal(waits[last].semaphore, waits[last].value);
      EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
      EXPECT_EQ(buffer.as()[0], 9u);
      for (uint32_t i = 0; i < count; i++) {
         EXPECT_VK(vkGetSemaphoreCounterValue(device, signals[i].semaphore, &value));
         EXPECT_EQ(value, 20 + i);
      }
   }
}

/// A program with work of its own between two status queries is never put to sleep by them.
TEST_F(SyncTest, StatusQueriesLetWorkGoOn)
{
   const VkFence fence = make_fence();
   const VkSemaphore never = make_semaphore(true), after = make_semaphore(true);
   const VkEventCreateInfo event_info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
   VkEvent event;
   ASSERT_VK(vkCreateEvent(device, &event_info, nullptr, &event));
   clean_up.push_back([=, this] { vkDestroyEvent(device, event, nullptr); });
   ASSERT_VK(submit(VK_NULL_HANDLE, never, 1, after, 1, fence));
   const auto sleeps = [] {
      rusage usage = {};
      getrusage(RUSAGE_THREAD, &usage);
      return usage.ru_nvcsw;
   };
   const long before = sleeps();
   for (int i = 0; i < 100; i++) {
      const auto start = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(60))
         continue;
      uint64_t value = 0;
      ASSERT_EQ(vkGetFenceStatus(device, fence), VK_NOT_READY);
      ASSERT_EQ(vkGetEventStatus(device, event), VK_EVENT_RESET);
      ASSERT_VK(vkGetSemaphoreCounterValue(device, after, &value));
      ASSERT_EQ(wait(never, 1, 0), VK_TIMEOUT);
   }
   // A thread may sometimes wait for a lock, also one of the sanitizers.
   EXPECT_LE(sleeps() - before, 20);
   signal(never, 1);
   EXPECT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
}

TEST_F(SyncTest, SeveralBatchesInOneCall)
{
   VkSemaphore semaphore = make_semaphore(true);
   VkFence fence = make_fence();
   uint64_t one = 1, two = 2;
   VkTimelineSemaphoreSubmitInfo values[] = {
      {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
       .signalSemaphoreValueCount = 1,
       .pSignalSemaphoreValues = &one},
      {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
       .waitSemaphoreValueCount = 1,
       .pWaitSemaphoreValues = &one,
       .signalSemaphoreValueCount = 1,
       .pSignalSemaphoreValues = &two},
   };
   VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
   VkSubmitInfo infos[] = {
      {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
       .pNext = &values[0],
       .signalSemaphoreCount = 1,
       .pSignalSemaphores = &semaphore},
      {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
       .pNext = &values[1],
       .waitSemaphoreCount = 1,
       .pWaitSemaphores = &semaphore,
       .pWaitDstStageMask = &stage,
       .signalSemaphoreCount = 1,
       .pSignalSemaphores = &semaphore},
   };
   ASSERT_VK(vkQueueSubmit(queue, 2, infos, fence));
   ASSERT_VK(vkWaitForFences(device, 1, &fence, VK_TRUE, wait_limit));
   uint64_t value = 0;
   EXPECT_VK(vkGetSemaphoreCounterValue(device, semaphore, &value));
   EXPECT_EQ(value, 2u);
}

TEST_F(SyncTest, FencesMayBeDestroyedAsSoonAsTheyAreSeenSignalled)
{
   for (int i = 0; i < 500; i++) {
      VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VkFence fence;
      ASSERT_VK(vkCreateFence(device, &info, nullptr, &fence));
      ASSERT_VK(vkQueueSubmit(queue, 0, nullptr, fence));
      while (vkGetFenceStatus(device, fence) == VK_NOT_READY)
         std::this_thread::yield();
      vkDestroyFence(device, fence, nullptr);
   }
}

TEST_F(SyncTest, ThreadsRecordOnTheirOwn)
{
   constexpr uint32_t thread_count = 4, rounds = 200;
   std::vector<TestBuffer> buffers;
   for (uint32_t t = 0; t < thread_count; t++)
      buffers.push_back(make_buffer(rounds * 4));
   std::vector<VkCommandBuffer> commands(thread_count);
   std::vector<VkCommandPool> pools(thread_count);
   std::vector<std::thread> threads;
   for (uint32_t t = 0; t < thread_count; t++) {
      threads.emplace_back([&, t] {
         VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
         EXPECT_VK(vkCreateCommandPool(device, &pool_info, nullptr, &pools[t]));
         VkCommandBufferAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = pools[t],
            .commandBufferCount = 1,
         };
         EXPECT_VK(vkAllocateCommandBuffers(device, &info, &commands[t]));
         VkCommandBufferBeginInfo begin_info = {.sType =
                                                   VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
         EXPECT_VK(vkBeginCommandBuffer(commands[t], &begin_info));
         for (uint32_t i = 0; i < rounds; i++)
            vkCmdFillBuffer(commands[t], buffers[t].handle, i * 4, 4, t * 1000 + i);
         EXPECT_VK(vkEndCommandBuffer(commands[t]));
      });
   }
   for (std::thread &thread : threads)
      thread.join();
   VkSubmitInfo submit_info = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = thread_count,
      .pCommandBuffers = commands.data(),
   };
   ASSERT_VK(vkQueueSubmit(queue, 1, &submit_info, VK_NULL_HANDLE));
   ASSERT_VK(vkQueueWaitIdle(queue));
   for (uint32_t t = 0; t < thread_count; t++) {
      for (uint32_t i = 0; i < rounds; i++)
         ASSERT_EQ(buffers[t].as()[i], t * 1000 + i);
      vkDestroyCommandPool(device, pools[t], nullptr);
   }
}

} // namespace weft::icd_test
