// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/large_stack.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft::cpu {
namespace {

/// Calls itself `depth` times, with 4 KiB of stack each.
size_t recurse(size_t depth)
{
   volatile char frame[4096];
   frame[depth % sizeof(frame)] = 1;
   return depth ? recurse(depth - 1) + size_t(frame[depth % sizeof(frame)]) : 0;
}

TEST(LargeStack, Holds128MiB)
{
   constexpr size_t depth = (128 << 20) / 4096;
   size_t levels = 0;
   call_on_large_stack([&] { levels = recurse(depth); });
   EXPECT_EQ(levels, depth);
}

TEST(LargeStack, ThrowsWhatIsThrownThere)
{
   EXPECT_THROW(call_on_large_stack([] { throw std::runtime_error("there"); }), std::runtime_error);
}

TEST(LargeStack, TheCallingThreadDoesItWhereThereIsNoOther)
{
   if (WEFT_ASAN || WEFT_TSAN)
      GTEST_SKIP() << "sanitizers need address space themselves";
   const auto child = [] {
      size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t bytes = pages * rlim_t(sysconf(_SC_PAGESIZE)) + (64 << 20);
      const rlimit limit = {bytes, bytes};
      if (setrlimit(RLIMIT_AS, &limit))
         std::exit(1);
      std::thread::id thread;
      call_on_large_stack([&] { thread = std::this_thread::get_id(); });
      std::exit(thread == std::this_thread::get_id() ? 0 : 2);
   };
   EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(LargeStackThreads, RunAsManyAsAreAllowed)
{
   std::atomic<int> running = 0, most = 0, done = 0;
   {
      LargeStackThreads threads(3);
      for (int i = 0; i < 20; i++) {
         threads.start([&] {
            const int now = ++running;
            for (int before = most; before < now && !most.compare_exchange_weak(before, now);)
               ;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            running--;
            done++;
         });
      }
   }
   EXPECT_EQ(done, 20);
   EXPECT_GT(most, 1);
   EXPECT_LE(most, 3);
}

TEST(LargeStackThreads, TakeWhatWaitsInItsOrder)
{
   std::promise<void> go;
   std::vector<int> order;
   {
      LargeStackThreads threads(1);
      threads.start([&] { go.get_future().get(); });
      for (int i = 0; i < 4; i++) // none of which keeps this thread
         threads.start([&order, i] { order.push_back(i); });
      EXPECT_TRUE(order.empty());
      go.set_value();
   }
   EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(LargeStackThreads, LetTheirStarterGoOn)
{
   std::promise<void> go;
   size_t levels = 0;
   LargeStackThreads threads(1);
   threads.start([&] {
      go.get_future().get();
      levels = recurse(10000);
   });
   go.set_value();
   threads.start([&] { EXPECT_EQ(levels, 10000u); });
}

} // namespace
} // namespace weft::cpu
