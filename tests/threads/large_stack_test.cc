// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/large_stack.h"

#include "threads/host_cpu.h"

#include "tests/x86/float_mode.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <locale.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft {
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
   EXPECT_TRUE(call_on_large_stack([&] { levels = recurse(depth); }));
   EXPECT_EQ(levels, depth);
}

TEST(LargeStack, ThrowsWhatIsThrownThere)
{
   EXPECT_THROW((void)call_on_large_stack([] { throw std::runtime_error("there"); }),
                std::runtime_error);
}

/// Calls `work` in a child process that may map `bytes` more bytes; the child exits with its
/// result.
void with_address_space(uint64_t bytes, int (*work)())
{
   const auto child = [&] {
      uint64_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t most = pages * rlim_t(sysconf(_SC_PAGESIZE)) + bytes;
      const rlimit limit = {most, most};
      if (setrlimit(RLIMIT_AS, &limit))
         std::exit(1);
      std::exit(work());
   };
   EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(LargeStack, TheCallingThreadDoesItWhereThereIsNoOther)
{
   if (WEFT_ASAN || WEFT_TSAN)
      GTEST_SKIP() << "sanitizers need address space themselves";
   with_address_space(4 << 20, [] {
      std::thread::id thread;
      test::FloatMode mode = {};
      set_default_float_mode();
      test::flush_denormals();
      const test::FloatMode caller = test::float_mode();
      const bool done = call_on_large_stack([&] {
         thread = std::this_thread::get_id();
         mode = test::float_mode();
      });
      if (!done || thread != std::this_thread::get_id())
         return 2;
      return mode == test::default_float_mode && test::float_mode() == caller ? 0 : 3;
   });
}

size_t own_stack_bytes()
{
   pthread_attr_t attributes;
   if (pthread_getattr_np(pthread_self(), &attributes))
      return 0;
   size_t bytes = 0;
   pthread_attr_getstacksize(&attributes, &bytes);
   pthread_attr_destroy(&attributes);
   return bytes;
}

/// The stack size of the thread on which work runs; 0 for the calling thread.
size_t stack_bytes_of_work()
{
   size_t bytes = 0;
   std::thread::id thread;
   const bool done = call_on_large_stack([&] {
      thread = std::this_thread::get_id();
      bytes = own_stack_bytes();
   });
   return done && thread != std::this_thread::get_id() ? bytes : 0;
}

TEST(LargeStack, IsSmallerWhereAddressSpaceIsShort)
{
   if (WEFT_ASAN || WEFT_TSAN)
      GTEST_SKIP() << "sanitizers need address space themselves";
   EXPECT_EQ(stack_bytes_of_work(), size_t(256) << 20);
   with_address_space(200 << 20, [] { return stack_bytes_of_work() == size_t(64) << 20 ? 0 : 2; });
   with_address_space(40 << 20, [] { return stack_bytes_of_work() == size_t(16) << 20 ? 0 : 2; });
   with_address_space(12 << 20, [] { return stack_bytes_of_work() == size_t(8) << 20 ? 0 : 2; });
}

TEST(LargeStack, ComputesAndWritesNumbersInItsOwnWay)
{
   const locale_t utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
   ASSERT_TRUE(utf8);
   const locale_t before = uselocale(utf8);
   fenv_t floats;
   fegetenv(&floats);
   for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST}) {
      fesetround(rounding);
      test::flush_denormals();
      const test::FloatMode caller = test::float_mode();
      test::FloatMode mode = {};
      int own_rounding = -1;
      size_t longest = 0;
      EXPECT_TRUE(call_on_large_stack([&] {
         mode = test::float_mode();
         own_rounding = fegetround();
         longest = MB_CUR_MAX;
      }));
      EXPECT_TRUE(mode == test::default_float_mode);
      EXPECT_EQ(own_rounding, FE_TONEAREST);
      EXPECT_EQ(longest, 1u) << "not the locale C";
      EXPECT_TRUE(test::float_mode() == caller);
      EXPECT_EQ(fegetround(), rounding);

      test::FloatMode later = {};
      {
         LargeStackThreads threads(1);
         threads.start([&](bool) { later = test::float_mode(); });
      }
      EXPECT_TRUE(later == test::default_float_mode);
   }
   fesetenv(&floats);
   EXPECT_GT(MB_CUR_MAX, 1u) << "the caller's locale has changed";
   uselocale(before);
   freelocale(utf8);
}

TEST(LargeStack, TakesNoSignalsOfTheProcess)
{
   sigset_t mask;
   EXPECT_TRUE(call_on_large_stack([&] { pthread_sigmask(SIG_BLOCK, nullptr, &mask); }));
   EXPECT_TRUE(sigismember(&mask, SIGINT));
   EXPECT_FALSE(sigismember(&mask, SIGSEGV));
}

TEST(LargeStackThreads, RunAsManyAsAreAllowed)
{
   std::atomic<int> running = 0, most = 0, done = 0;
   {
      LargeStackThreads threads(3);
      for (int i = 0; i < 20; i++) {
         threads.start([&](bool) {
            const int now = ++running;
            for (int before = most; before < now && !most.compare_exchange_weak(before, now);)
               ;
            // The first task runs until another one runs beside it, on a machine of any speed.
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
            do
               std::this_thread::sleep_for(std::chrono::milliseconds(5));
            while (most < 2 && std::chrono::steady_clock::now() < end);
            running--;
            done++;
         });
      }
   }
   EXPECT_EQ(done, 20);
   EXPECT_GT(most, 1);
   EXPECT_LE(most, 3);
}

TEST(LargeStackThreads, StartIfIdle)
{
   std::atomic<int> done = 0;
   std::promise<void> go;
   const std::shared_future<void> may_end = go.get_future().share();
   {
      LargeStackThreads threads(2);
      threads.start([&](bool) { may_end.wait(); });
      threads.start_if_idle([&](bool) {
         may_end.wait();
         done += 1;
      });
      threads.start_if_idle([&](bool) { done += 10; }); // all are running
      go.set_value();
   }
   EXPECT_EQ(done, 1);
}

TEST(LargeStackThreads, TakeWhatWaitsInItsOrder)
{
   std::promise<void> go;
   std::vector<int> order;
   {
      LargeStackThreads threads(1);
      threads.start([&](bool) { go.get_future().get(); });
      for (int i = 0; i < 4; i++) // the calls return at once
         threads.start([&order, i](bool) { order.push_back(i); });
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
   threads.start([&](bool) {
      go.get_future().get();
      levels = recurse(10000);
   });
   go.set_value();
   threads.start([&](bool) { EXPECT_EQ(levels, 10000u); });
}

/// Tasks may start others while the queue is full: if they waited, no task would end.
TEST(LargeStackThreads, TasksStartTasksWithoutWaiting)
{
   std::atomic<int> done = 0;
   {
      LargeStackThreads threads(1);
      for (int i = 0; i < 7; i++) {
         threads.start([&](bool) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            for (int j = 0; j < 6; j++)
               threads.start([&](bool) { done++; });
         });
      }
   }
   EXPECT_EQ(done, 42);
}

} // namespace
} // namespace weft
