// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The executor: workgroups, subgroups and barriers of programs written by hand.

#include "backend/cpu/runtime/usable_cpus.h"
#include "tests/backend/cpu/executor_programs.h"
#include "tests/x86/float_mode.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

namespace weft::cpu {
namespace {

class Executors : public testing::TestWithParam<uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, Executors, testing::Values(1, 2, 3, 8));

TEST_P(Executors, VisitsEveryWorkgroupOnce)
{
   Executor executor(GetParam());
   EXPECT_EQ(executor.threads(), GetParam());
   for (const bool barriers : {false, true}) {
      for (const std::array<uint32_t, 3> groups :
           {std::array<uint32_t, 3>{1, 1, 1}, {1, 1, 7}, {3, 5, 2}, {1000, 1, 1}, {13, 17, 19}}) {
         for (const uint32_t subgroups : {1u, 4u}) {
            Visits visits(groups, {2, 3, 4}, subgroups);
            visits.with_barrier = barriers;
            DispatchState state = state_of(visits);
            for (int axis = 0; axis < 3; axis++) {
               state.base_workgroup[axis] = visits.base[axis];
               state.num_workgroups[axis] = groups[axis];
            }
            const HandwrittenProgram program(Visits::kernel, program_info(subgroups, barriers));
            ASSERT_TRUE(executor.dispatch(program, state, groups));
            EXPECT_EQ(visits.strays, 0u);
            for (const auto &count : visits.counts)
               ASSERT_EQ(count, 1u);
         }
      }
   }
}

TEST_P(Executors, DoesNothingForNoWorkgroups)
{
   Executor executor(GetParam());
   const HandwrittenProgram program(
      [](const DispatchState *, WorkgroupState *, uint32_t) {
         ADD_FAILURE();
         return true;
      },
      program_info(2, true));
   DispatchState state = {};
   EXPECT_TRUE(executor.dispatch(program, state, {0, 1, 1}));
   EXPECT_TRUE(executor.dispatch(program, state, {5, 5, 0}));
}

/// The workgroups wait for each other, one on each thread.
struct Meeting {
   const Executor &executor;
   uint32_t threads;
   std::atomic<uint32_t> arrived = 0;
   std::atomic<uint32_t> saw_free_cpus = 0;

   static bool kernel(const DispatchState *state, WorkgroupState *, uint32_t)
   {
      auto &meeting = object_of<Meeting>(state);
      meeting.arrived++;
      while (meeting.arrived < meeting.threads)
         std::this_thread::yield();
      meeting.saw_free_cpus += meeting.executor.leaves_cpus_free();
      return true;
   }
};

TEST(Executor, TellsWhetherCpusAreFree)
{
   const uint32_t cpus = usable_cpus();
   for (const uint32_t threads : std::set<uint32_t>{1, cpus, cpus + 2}) {
      Executor executor(threads);
      for (const uint32_t groups : std::set<uint32_t>{1, threads}) {
         EXPECT_FALSE(executor.leaves_cpus_free());
         Meeting meeting{executor, groups};
         const HandwrittenProgram program(Meeting::kernel, program_info(1, false));
         ASSERT_TRUE(executor.dispatch(program, state_of(meeting), {groups, 1, 1}));
         EXPECT_EQ(meeting.saw_free_cpus, groups < cpus ? groups : 0) << threads << " " << groups;
         EXPECT_FALSE(executor.leaves_cpus_free());
      }
   }
}

constexpr uint32_t phases = 5;

/// Every subgroup writes its slot in shared memory in each phase; after the barrier it must see all
/// slots.
struct Exchange {
   std::atomic<uint32_t> errors = 0;
   uint32_t subgroups;

   static bool kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &exchange = object_of<Exchange>(state);
      auto *slots = reinterpret_cast<volatile uint32_t *>(group->shared);
      if (reinterpret_cast<uintptr_t>(group->shared) % 64)
         exchange.errors++;
      const uint32_t salt = group->workgroup_id[0] * 1000;
      for (uint32_t phase = 0; phase < phases; phase++) {
         slots[subgroup] = salt + phase;
         group->barrier(group);
         for (uint32_t i = 0; i < exchange.subgroups; i++) {
            if (slots[i] != salt + phase)
               exchange.errors++;
         }
         group->barrier(group);
      }
      return true;
   }
};

TEST_P(Executors, BarriersOrderSharedMemory)
{
   Executor executor(GetParam());
   for (const uint32_t subgroups : {1u, 2u, 3u, 16u, 128u}) {
      Exchange exchange;
      exchange.subgroups = subgroups;
      const HandwrittenProgram program(Exchange::kernel,
                                       program_info(subgroups, true, 4 * subgroups));
      ASSERT_TRUE(executor.dispatch(program, state_of(exchange), {100, 1, 1}));
      EXPECT_EQ(exchange.errors, 0u);
   }
}

/// Subgroup s passes s barriers and ends; the remaining ones must still meet.
struct Dwindling {
   std::atomic<uint32_t> errors = 0, finished = 0;

   static bool kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &test = object_of<Dwindling>(state);
      auto *arrived = reinterpret_cast<volatile uint32_t *>(group->shared);
      constexpr uint32_t subgroups = 8;
      if (subgroup == 0)
         for (uint32_t i = 0; i < subgroups; i++)
            arrived[i] = 0;
      group->barrier(group);
      for (uint32_t phase = 0; phase < subgroup; phase++) {
         arrived[phase] = arrived[phase] + 1;
         group->barrier(group);
         // Subgroups with a larger number than `phase` have not ended.
         if (arrived[phase] != subgroups - 1 - phase)
            test.errors++;
      }
      test.finished++;
      return true;
   }
};

TEST_P(Executors, SubgroupsMayEndEarly)
{
   Executor executor(GetParam());
   Dwindling test;
   const HandwrittenProgram program(Dwindling::kernel, program_info(8, true, 32));
   ASSERT_TRUE(executor.dispatch(program, state_of(test), {50, 1, 1}));
   EXPECT_EQ(test.errors, 0u);
   EXPECT_EQ(test.finished, 400u);
}

TEST_P(Executors, GivesTheStackThatIsAskedFor)
{
   Executor executor(GetParam());
   for (const bool barriers : {true, false}) {
      StackUser test;
      const HandwrittenProgram program(
         StackUser::kernel, program_info(barriers ? 6 : 1, barriers, 0, StackUser::bytes + 100));
      ASSERT_TRUE(executor.dispatch(program, state_of(test), {20, 1, 1}));
      EXPECT_EQ(test.errors, 0u);
   }
}

TEST_P(Executors, AlternatesBetweenPrograms)
{
   Executor executor(GetParam());
   for (int round = 0; round < 200; round++) {
      const uint32_t subgroups = 1 + round % 7;
      Visits visits({1u + round % 40, 1, 1}, {0, 0, 0}, subgroups);
      visits.with_barrier = round % 3 == 0;
      const HandwrittenProgram program(Visits::kernel,
                                       program_info(subgroups, visits.with_barrier, round * 8));
      ASSERT_TRUE(executor.dispatch(program, state_of(visits), visits.groups));
      for (const auto &count : visits.counts)
         ASSERT_EQ(count, 1u);
   }
}

TEST(Executor, RunsWithTheDefaultFloatingPointMode)
{
   struct Modes {
      std::mutex mutex;
      std::set<test::FloatMode> seen;
   } modes;
   fenv_t before;
   fegetenv(&before);
   fesetround(FE_UPWARD);
   test::flush_denormals();
   const test::FloatMode callers = test::float_mode();
   Executor executor(3);
   for (const bool barriers : {false, true}) {
      const HandwrittenProgram program(
         [](const DispatchState *state, WorkgroupState *, uint32_t) {
            auto &modes = object_of<Modes>(state);
            const std::lock_guard lock(modes.mutex);
            modes.seen.insert(test::float_mode());
            return true;
         },
         program_info(2, barriers));
      ASSERT_TRUE(executor.dispatch(program, state_of(modes), {100, 1, 1}));
   }
   EXPECT_TRUE(test::float_mode() == callers);
   EXPECT_EQ(fegetround(), FE_UPWARD);
   fesetenv(&before);
   EXPECT_TRUE(modes.seen == std::set{test::default_float_mode});
}

TEST(Executor, UsesTheCpusOfItsAffinityMask)
{
   // In a thread of its own: the mask is inherited by the executor's threads and must not outlive
   // the test.
   std::thread([] {
      cpu_set_t all, one;
      ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
      CPU_ZERO(&one);
      for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
         if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
            break;
         }
      }
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      if (!std::getenv("WEFT_THREADS")) {
         EXPECT_EQ(Executor().threads(), 1u);
      }
   }).join();
}

/// Every workgroup waits until all are running, so that each has a thread of its own; each thread's
/// blocked signals are kept.
struct MaskReaders {
   static constexpr uint32_t threads = 4;
   const pthread_t caller = pthread_self();
   std::atomic<uint32_t> arrived = 0, lonely = 0;
   std::mutex mutex;
   std::vector<sigset_t> workers;

   static bool kernel(const DispatchState *state, WorkgroupState *, uint32_t)
   {
      auto &test = object_of<MaskReaders>(state);
      test.arrived++;
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (test.arrived < threads) {
         if (std::chrono::steady_clock::now() > until) {
            test.lonely++;
            return true;
         }
         std::this_thread::yield();
      }
      if (pthread_equal(pthread_self(), test.caller))
         return true;
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      const std::lock_guard lock(test.mutex);
      test.workers.push_back(mask);
      return true;
   }
};

TEST(Executor, WorkersTakeFaultsAndNoOtherSignals)
{
   sigset_t before, after;
   pthread_sigmask(SIG_BLOCK, nullptr, &before);
   Executor executor(MaskReaders::threads);
   pthread_sigmask(SIG_BLOCK, nullptr, &after);
   MaskReaders readers;
   const HandwrittenProgram program(MaskReaders::kernel, program_info(1, false));
   ASSERT_TRUE(executor.dispatch(program, state_of(readers), {MaskReaders::threads, 1, 1}));
   EXPECT_EQ(readers.lonely, 0u);
   ASSERT_EQ(readers.workers.size(), 3u);
   for (const sigset_t &mask : readers.workers) {
      for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
         EXPECT_FALSE(sigismember(&mask, fault)) << fault;
      for (const int sent : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF})
         EXPECT_TRUE(sigismember(&mask, sent)) << sent;
   }
   for (int signal = 1; signal < SIGRTMAX; signal++)
      EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
}

/// Subgroup 0 writes and the others read, without a barrier or with one.
struct Message {
   bool has_barrier = false;
   std::atomic<uint32_t> missed = 0;
   std::mutex mutex;
   std::vector<uint32_t> order; ///< of the workgroups and subgroups that ran

   static bool kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &message = object_of<Message>(state);
      auto *text = reinterpret_cast<volatile uint32_t *>(group->shared);
      {
         const std::lock_guard lock(message.mutex);
         message.order.push_back(group->workgroup_id[0] * 8 + subgroup);
      }
      if (subgroup == 0)
         text[0] = group->workgroup_id[0] + 1;
      if (message.has_barrier)
         group->barrier(group);
      if (text[0] != group->workgroup_id[0] + 1)
         message.missed++;
      group->barrier(group);
      if (subgroup == 0)
         text[0] = 0;
      return true;
   }
};

TEST(Executor, RunsInAnOrderThatASeedDecides)
{
   constexpr uint32_t subgroups = 8, groups = 20;
   const HandwrittenProgram program(Message::kernel, program_info(subgroups, true, 64));
   std::set<std::vector<uint32_t>> orders;
   uint32_t seeds_that_miss = 0;
   for (uint32_t seed = 0; seed < 10; seed++) {
      for (const bool has_barrier : {true, false}) {
         Executor executor(1, seed);
         Message message;
         message.has_barrier = has_barrier;
         ASSERT_TRUE(executor.dispatch(program, state_of(message), {groups, 1, 1}));
         std::vector<uint32_t> sorted = message.order;
         std::ranges::sort(sorted);
         ASSERT_EQ(sorted.size(), subgroups * groups);
         for (uint32_t i = 0; i < sorted.size(); i++)
            ASSERT_EQ(sorted[i], i) << "seed " << seed;
         if (seed == 0) {
            EXPECT_EQ(sorted, message.order);
         }
         if (has_barrier || seed == 0) {
            EXPECT_EQ(message.missed, 0u) << "seed " << seed;
         } else {
            seeds_that_miss += message.missed != 0;
            orders.insert(message.order);
         }
      }
   }
   EXPECT_EQ(seeds_that_miss, 9u);
   EXPECT_EQ(orders.size(), 9u);
}

TEST(Executor, ASeedGivesTheSameOrderAgain)
{
   const HandwrittenProgram program(Message::kernel, program_info(8, false, 64));
   for (const uint32_t seed : {1u, 77u, ~0u}) {
      std::vector<uint32_t> first;
      for (int i = 0; i < 2; i++) {
         Executor executor(1, seed);
         Message message;
         message.has_barrier = false;
         ASSERT_TRUE(executor.dispatch(program, state_of(message), {3, 1, 1}));
         if (i) {
            EXPECT_EQ(message.order, first);
         }
         first = message.order;
      }
   }
}

TEST_P(Executors, VisitEveryWorkgroupOnceInAnyOrder)
{
   for (const uint32_t seed : {1u, 2u, 3u}) {
      Executor executor(GetParam(), seed);
      for (const bool barriers : {false, true}) {
         for (const std::array<uint32_t, 3> groups : {std::array<uint32_t, 3>{1, 1, 1},
                                                      {1, 1, 7},
                                                      {3, 5, 2},
                                                      {1000, 1, 1},
                                                      {13, 17, 19}}) {
            Visits visits(groups, {0, 0, 0}, 4);
            visits.with_barrier = barriers;
            const HandwrittenProgram program(Visits::kernel, program_info(4, barriers));
            ASSERT_TRUE(executor.dispatch(program, state_of(visits), groups));
            EXPECT_EQ(visits.strays, 0u);
            for (const auto &count : visits.counts)
               ASSERT_EQ(count, 1u);
         }
      }
   }
}

/// Several callers at once, each with its own executor.
TEST(Executor, SeveralWorkAtOnce)
{
   std::vector<std::thread> callers;
   for (uint32_t caller = 0; caller < 4; caller++) {
      callers.emplace_back([caller] {
         Executor executor(1 + caller);
         for (uint32_t round = 0; round < 50; round++) {
            const uint32_t subgroups = 1 + (caller + round) % 5;
            Visits visits({1 + round * 3 % 20, 2, 1}, {0, 0, 0}, subgroups);
            visits.with_barrier = round % 2;
            const HandwrittenProgram program(
               Visits::kernel, program_info(subgroups, visits.with_barrier, 64 * round));
            ASSERT_TRUE(executor.dispatch(program, state_of(visits), visits.groups));
            for (const auto &count : visits.counts)
               ASSERT_EQ(count, 1u);
         }
      });
   }
   for (std::thread &caller : callers)
      caller.join();
}

/// One executor, dispatched from one thread after another: the stacks of the caller change.
TEST(Executor, MayBeUsedByAnyThreadInTurn)
{
   Executor executor(3);
   std::mutex turn;
   std::vector<std::thread> callers;
   for (uint32_t caller = 0; caller < 4; caller++) {
      callers.emplace_back([&] {
         for (uint32_t round = 0; round < 50; round++) {
            Exchange exchange;
            exchange.subgroups = 4;
            const HandwrittenProgram program(Exchange::kernel, program_info(4, true, 16));
            const std::lock_guard lock(turn);
            ASSERT_TRUE(executor.dispatch(program, state_of(exchange), {8, 1, 1}));
            EXPECT_EQ(exchange.errors, 0u);
         }
      });
   }
   for (std::thread &caller : callers)
      caller.join();
}

} // namespace
} // namespace weft::cpu
