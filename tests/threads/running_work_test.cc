// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Objects of static storage outlive the work of other threads at exit(), and no work starts after
/// that.

#include "threads/running_work.h"

#include "threads/large_stack.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

std::atomic<bool> table_is_there = false;

/// A compiler's table, created at its first use.
struct Table {
   Table() { table_is_there = true; }
   ~Table() { table_is_there = false; }
};
void use_table()
{
   static Table table;
}

/// Threads work while another one calls exit(). The process ends with status 3 if the table was
/// destroyed too early.
void exit_while_threads_work(int threads)
{
   // Called last: a process that does not wait lives long enough for the work to see it.
   std::atexit([] { std::this_thread::sleep_for(300ms); });
   (void)call_on_large_stack(use_table);
   std::atomic<int> begun = 0;
   for (int i = 0; i < threads; i++) {
      std::thread([&] {
         const bool done = call_on_large_stack([&] {
            begun++;
            std::this_thread::sleep_for(50ms);
            if (!table_is_there)
               _exit(3);
         });
         if (!done)
            _exit(4);
      }).detach();
   }
   while (begun < threads)
      std::this_thread::yield();
   std::exit(0);
}

TEST(RunningWork, IsWaitedForAtExit)
{
   EXPECT_EXIT(exit_while_threads_work(1), testing::ExitedWithCode(0), "");
   EXPECT_EXIT(exit_while_threads_work(4), testing::ExitedWithCode(0), "");
}

/// Registered before any guard, so called after all of them.
void try_to_work()
{
   bool ran = false;
   if (call_on_large_stack([&] { ran = true; }) || ran)
      _exit(5);
   LargeStackThreads threads(1);
   std::optional<bool> allowed;
   threads.start([&](bool may_run) { allowed = may_run; });
   threads.finish();
   if (!allowed || *allowed)
      _exit(6);
}

TEST(RunningWork, DoesNotStartAfterExit)
{
   const auto child = [] {
      std::atexit(try_to_work);
      (void)call_on_large_stack([] {});
      std::exit(0);
   };
   EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(RunningWork, MayCallExitItself)
{
   EXPECT_EXIT((void)call_on_large_stack([] { std::exit(0); }), testing::ExitedWithCode(0), "");
}

/// Work that is only queued when exit() is called does not run, and exit() does not wait for it.
TEST(RunningWork, IsNotDoneIfItOnlyWaited)
{
   const auto child = [] {
      auto &threads = *new LargeStackThreads(1);
      std::atomic<bool> begun = false;
      threads.start([&](bool) {
         begun = true;
         while (RunningWork()) // exit() has not been called
            std::this_thread::yield();
      });
      while (!begun)
         std::this_thread::yield();
      for (int i = 0; i < 3; i++) {
         threads.start([](bool may_run) {
            if (may_run)
               _exit(3);
         });
      }
      std::exit(0);
   };
   EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(RunningWork, OfAParentIsNotWaitedForByAChild)
{
   if (WEFT_TSAN)
      GTEST_SKIP() << "ThreadSanitizer ends children of processes with threads";
   const auto process = [] {
      std::atomic<bool> begun = false, over = false;
      std::thread([&] {
         (void)call_on_large_stack([&] {
            begun = true;
            while (!over)
               std::this_thread::yield();
         });
      }).detach();
      while (!begun)
         std::this_thread::yield();
      const pid_t child = fork();
      if (child == 0) {
         alarm(20);
         std::exit(7);
      }
      int status = 0;
      waitpid(child, &status, 0);
      over = true;
      std::exit(WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 3);
   };
   EXPECT_EXIT(process(), testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace weft
