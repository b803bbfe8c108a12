// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/executor.h"
#include "backend/cpu/runtime/usable_cpus.h"
#include "tests/backend/cpu/handwritten_program.h"

#include <gtest/gtest.h>

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <vector>

/// Allocations of the calling thread that still succeed; negative: all.
static thread_local int64_t allocations_left = -1;

#if !WEFT_TSAN // its run time brings the program's, with Clang

// Not inlined: g++ would take free() for another allocator's.
[[gnu::noinline]] void *operator new(size_t size)
{
   if (allocations_left > 0)
      allocations_left--;
   void *memory = allocations_left ? std::malloc(size ? size : 1) : nullptr;
   if (!memory)
      throw std::bad_alloc();
   return memory;
}

[[gnu::noinline]] void operator delete(void *memory) noexcept
{
   std::free(memory);
}

[[gnu::noinline]] void operator delete(void *memory, size_t) noexcept
{
   std::free(memory);
}

#endif

namespace weft::cpu {
namespace {

/// Counts the visits of every subgroup of every workgroup.
struct Visits {
   std::array<uint32_t, 3> groups, base;
   uint32_t subgroups;
   std::vector<std::atomic<uint32_t>> counts;
   std::atomic<uint32_t> strays = 0;

   Visits(std::array<uint32_t, 3> groups, std::array<uint32_t, 3> base, uint32_t subgroups)
       : groups(groups), base(base), subgroups(subgroups),
         counts(size_t(groups[0]) * groups[1] * groups[2] * subgroups)
   {
   }

   static void kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &visits = object_of<Visits>(state);
      std::array<uint32_t, 3> at;
      for (int axis = 0; axis < 3; axis++) {
         at[axis] = group->workgroup_id[axis] - visits.base[axis];
         if (at[axis] >= visits.groups[axis]) {
            visits.strays++;
            return;
         }
      }
      const size_t workgroup =
         (size_t(at[2]) * visits.groups[1] + at[1]) * visits.groups[0] + at[0];
      visits.counts[workgroup * visits.subgroups + subgroup]++;
      if (visits.with_barrier)
         group->barrier(group);
   }

   bool with_barrier = false;
};

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
      [](const DispatchState *, WorkgroupState *, uint32_t) { FAIL(); }, program_info(2, true));
   DispatchState state = {};
   EXPECT_TRUE(executor.dispatch(program, state, {0, 1, 1}));
   EXPECT_TRUE(executor.dispatch(program, state, {5, 5, 0}));
}

/// Each thread's workgroup waits for the others'.
struct Meeting {
   const Executor &executor;
   uint32_t threads;
   std::atomic<uint32_t> arrived = 0;
   std::atomic<uint32_t> saw_free_cpus = 0;

   static void kernel(const DispatchState *state, WorkgroupState *, uint32_t)
   {
      auto &meeting = object_of<Meeting>(state);
      meeting.arrived++;
      while (meeting.arrived < meeting.threads)
         std::this_thread::yield();
      meeting.saw_free_cpus += meeting.executor.leaves_cpus_free();
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
/// the others'.
struct Exchange {
   std::atomic<uint32_t> errors = 0;
   uint32_t subgroups;

   static void kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
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

/// Subgroup s passes s barriers and ends; those that remain must still meet.
struct Dwindling {
   std::atomic<uint32_t> errors = 0, finished = 0;

   static void kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
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
         // Those with a larger number than `phase` are still there.
         if (arrived[phase] != subgroups - 1 - phase)
            test.errors++;
      }
      test.finished++;
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

/// Uses the stack that it asked for, across barriers.
struct StackUser {
   static constexpr uint32_t bytes = 300000;
   std::atomic<uint32_t> errors = 0;

   static void kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      volatile uint8_t memory[bytes];
      std::memset(const_cast<uint8_t *>(memory), subgroup + 1, bytes);
      group->barrier(group);
      for (uint32_t i = 0; i < bytes; i++) {
         if (memory[i] != subgroup + 1) {
            object_of<StackUser>(state).errors++;
            return;
         }
      }
   }
};

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
      std::set<unsigned> seen, x87;
   } modes;
   const unsigned before = _mm_getcsr();
   fesetround(FE_UPWARD);             // of both units
   _mm_setcsr(_mm_getcsr() | 0x8040); // flush to zero, denormals are zeros
   const unsigned callers = _mm_getcsr() & 0xffc0;
   Executor executor(3);
   for (const bool barriers : {false, true}) {
      const HandwrittenProgram program(
         [](const DispatchState *state, WorkgroupState *, uint32_t) {
            auto &modes = object_of<Modes>(state);
            const std::lock_guard lock(modes.mutex);
            modes.seen.insert(_mm_getcsr() & 0xffc0);
            uint16_t control;
            asm volatile("fnstcw %0" : "=m"(control));
            modes.x87.insert(control);
         },
         program_info(2, barriers));
      ASSERT_TRUE(executor.dispatch(program, state_of(modes), {100, 1, 1}));
   }
   EXPECT_EQ(_mm_getcsr() & 0xffc0, callers);
   EXPECT_EQ(fegetround(), FE_UPWARD);
   fesetround(FE_TONEAREST);
   _mm_setcsr(before);
   EXPECT_EQ(modes.seen, std::set<unsigned>{0x1f80});
   EXPECT_EQ(modes.x87, std::set<unsigned>{0x37f});
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

/// Every workgroup waits until all are running, so that each has a thread of its own; what each
/// thread blocks is kept.
struct MaskReaders {
   static constexpr uint32_t threads = 4;
   const pthread_t caller = pthread_self();
   std::atomic<uint32_t> arrived = 0, lonely = 0;
   std::mutex mutex;
   std::vector<sigset_t> workers;

   static void kernel(const DispatchState *state, WorkgroupState *, uint32_t)
   {
      auto &test = object_of<MaskReaders>(state);
      test.arrived++;
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (test.arrived < threads) {
         if (std::chrono::steady_clock::now() > until) {
            test.lonely++;
            return;
         }
         std::this_thread::yield();
      }
      if (pthread_equal(pthread_self(), test.caller))
         return;
      sigset_t mask;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      const std::lock_guard lock(test.mutex);
      test.workers.push_back(mask);
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

TEST(Executor, IsMadeWholeOrNotAtAllWhenMemoryRunsOut)
{
   if (WEFT_TSAN)
      GTEST_SKIP() << "allocations don't fail with ThreadSanitizer's operator new";
   const Executor counts_the_cpus(1);
   bool whole = false;
   for (int64_t allocations = 0; !whole; allocations++) {
      ASSERT_LT(allocations, 200);
      sigset_t mask;
      std::unique_ptr<Executor> executor;
      allocations_left = allocations;
      try {
         executor.reset(new Executor(4));
      } catch (const std::bad_alloc &) {
      }
      whole = allocations_left != 0;
      allocations_left = -1;
      pthread_sigmask(SIG_BLOCK, nullptr, &mask);
      EXPECT_FALSE(sigismember(&mask, SIGINT)) << allocations;
      if (!executor)
         continue;
      // Perhaps with fewer threads.
      Visits visits({40, 1, 1}, {0, 0, 0}, 2);
      const HandwrittenProgram program(Visits::kernel, program_info(2, true));
      ASSERT_TRUE(executor->dispatch(program, state_of(visits), visits.groups));
      for (const auto &count : visits.counts)
         ASSERT_EQ(count, 1u) << allocations;
   }
}

uint64_t address_space_in_use()
{
   unsigned long long pages = 0;
   if (FILE *file = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(file, "%llu", &pages) != 1)
         pages = 0;
      std::fclose(file);
   }
   return uint64_t(pages) * sysconf(_SC_PAGESIZE);
}

TEST(Executor, ThreadsWithoutMemoryLeaveTheWorkToTheOthers)
{
   constexpr uint32_t subgroups = 64, stack_bytes = 16 << 20; // a thread's stacks take 1 GiB
   Executor executor(4);
   Visits visits({100, 1, 1}, {0, 0, 0}, subgroups);
   visits.with_barrier = true;
   const HandwrittenProgram program(Visits::kernel, program_info(subgroups, true, 0, stack_bytes));
   rlimit before;
   ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
   rlimit limit = before;
   limit.rlim_cur = address_space_in_use() + (uint64_t(3) << 29); // one thread's, not two
   ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
   const bool ran = executor.dispatch(program, state_of(visits), visits.groups);
   ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
   EXPECT_TRUE(ran);
   for (const auto &count : visits.counts)
      ASSERT_EQ(count, 1u);
}

/// Each visited once, or none at all.
testing::AssertionResult visits_all_or_none(Executor &executor, const ProgramInfo &info, bool &ran)
{
   Visits visits({10, 1, 1}, {0, 0, 0}, info.subgroups);
   visits.with_barrier = info.uses_barrier;
   const HandwrittenProgram program(Visits::kernel, info);
   ran = executor.dispatch(program, state_of(visits), visits.groups);
   for (const auto &count : visits.counts) {
      if (count != uint32_t(ran))
         return testing::AssertionFailure() << "a subgroup ran " << count << " times";
   }
   return testing::AssertionSuccess();
}

TEST(Executor, GoesOnAfterAnAllocationOfADispatchHasFailed)
{
   if (WEFT_TSAN)
      GTEST_SKIP() << "allocations don't fail with ThreadSanitizer's operator new";
   bool ran = false;
   for (int64_t allocations = 0; !ran; allocations++) {
      ASSERT_LT(allocations, 20);
      Executor executor(1);
      bool before = false;
      ASSERT_TRUE(visits_all_or_none(executor, program_info(2, true), before));
      ASSERT_TRUE(before);
      const ProgramInfo larger = program_info(7, true, 1000, 100000);
      Visits visits({10, 1, 1}, {0, 0, 0}, 7);
      visits.with_barrier = true;
      const HandwrittenProgram program(Visits::kernel, larger);
      allocations_left = allocations;
      ran = executor.dispatch(program, state_of(visits), visits.groups);
      allocations_left = -1;
      for (const auto &count : visits.counts)
         ASSERT_EQ(count, uint32_t(ran)) << allocations;
      for (const ProgramInfo &next : {larger, program_info(2, true), program_info(3, false)}) {
         bool again = false;
         ASSERT_TRUE(visits_all_or_none(executor, next, again)) << allocations;
         EXPECT_TRUE(again) << allocations;
      }
   }
}

/// What `work` adds to the address space.
template <typename Work>
int64_t growth(Work work)
{
   const uint64_t before = address_space_in_use();
   work();
   return int64_t(address_space_in_use()) - int64_t(before);
}

/// Many small stacks for one program and one large stack for another are not as many large ones.
TEST(Executor, MapsNoMoreThanProgramsNeed)
{
   const ProgramInfo many = program_info(256, true), large = program_info(1, true, 0, 64 << 20);
   Executor executor(1);
   bool ran = false;
   const int64_t bytes = growth([&] {
      for (int i = 0; i < 3; i++) {
         EXPECT_TRUE(visits_all_or_none(executor, many, ran));
         EXPECT_TRUE(ran);
         EXPECT_TRUE(visits_all_or_none(executor, large, ran));
         EXPECT_TRUE(ran);
      }
   });
   EXPECT_LT(bytes, int64_t(1) << 30);
}

TEST(Executor, GivesBackStacksAndSharedMemoryThatAreNotUsed)
{
   if (WEFT_ASAN)
      GTEST_SKIP() << "AddressSanitizer keeps freed shared memory in its quarantine";
   const ProgramInfo small = program_info(2, true, 100),
                     large = program_info(4, true, 64 << 20, 64 << 20);
   Executor executor(1);
   bool ran = false;
   ASSERT_TRUE(visits_all_or_none(executor, small, ran));
   const int64_t bytes = growth([&] {
      ASSERT_TRUE(visits_all_or_none(executor, large, ran));
      EXPECT_TRUE(ran);
      for (int i = 0; i < 1000; i++)
         ASSERT_TRUE(visits_all_or_none(executor, small, ran));
   });
   EXPECT_LT(bytes, int64_t(32) << 20);
   // And what is used again now and then stays.
   const int64_t kept = growth([&] {
      for (int i = 0; i < 1000; i++)
         ASSERT_TRUE(visits_all_or_none(executor, i % 50 ? small : large, ran));
   });
   EXPECT_GT(kept, int64_t(256) << 20);
}

/// A joint mapping that would be acceptable by its size may still not be had.
TEST(Executor, MapsWhatAProgramNeedsWhereMoreFails)
{
   if (WEFT_ASAN || WEFT_TSAN)
      GTEST_SKIP() << "sanitizers need address space themselves";
   Executor executor(1);
   bool ran = false;
   ASSERT_TRUE(visits_all_or_none(executor, program_info(8, true, 0, 32 << 20), ran));
   rlimit before;
   ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
   rlimit limit = before;
   limit.rlim_cur = address_space_in_use() + (uint64_t(100) << 20);
   ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
   // With the stacks that are there: 350 MiB, where 256 and 100 are free.
   const bool alone = visits_all_or_none(executor, program_info(2, true, 0, 160 << 20), ran) && ran;
   ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
   EXPECT_TRUE(alone);
}

/// Subgroup 0 writes, the others read, without a barrier or with one.
struct Message {
   bool has_barrier = false;
   std::atomic<uint32_t> missed = 0;
   std::mutex mutex;
   std::vector<uint32_t> order; ///< of the workgroups and subgroups that ran

   static void kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
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

/// Callers that know nothing of each other, each with its executor.
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

TEST(Executor, RefusesAbsurdStacks)
{
   Executor executor(2);
   const HandwrittenProgram absurd([](const DispatchState *, WorkgroupState *, uint32_t) {},
                                   program_info(1u << 24, true, 0, ~0u));
   DispatchState state = {};
   EXPECT_FALSE(executor.dispatch(absurd, state, {1, 1, 1}));
   // And goes on with the next.
   Visits visits({10, 1, 1}, {0, 0, 0}, 2);
   const HandwrittenProgram program(Visits::kernel, program_info(2, true));
   ASSERT_TRUE(executor.dispatch(program, state_of(visits), visits.groups));
   for (const auto &count : visits.counts)
      EXPECT_EQ(count, 1u);
}

} // namespace
} // namespace weft::cpu
