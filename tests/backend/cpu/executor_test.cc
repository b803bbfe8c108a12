// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/executor.h"
#include "tests/backend/cpu/handwritten_program.h"

#include <gtest/gtest.h>

#include <immintrin.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

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
      const size_t workgroup = (size_t(at[2]) * visits.groups[1] + at[1]) * visits.groups[0] + at[0];
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
      for (const std::array<uint32_t, 3> groups : {std::array<uint32_t, 3>{1, 1, 1},
                                                   {1, 1, 7},
                                                   {3, 5, 2},
                                                   {1000, 1, 1},
                                                   {13, 17, 19}}) {
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
   const HandwrittenProgram program([](const DispatchState *, WorkgroupState *, uint32_t) { FAIL(); },
                                    program_info(2, true));
   DispatchState state = {};
   EXPECT_TRUE(executor.dispatch(program, state, {0, 1, 1}));
   EXPECT_TRUE(executor.dispatch(program, state, {5, 5, 0}));
}

constexpr uint32_t phases = 5;

/// Every subgroup writes its slot in shared memory in each phase; after the barrier it must see all the others'.
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
      const HandwrittenProgram program(Exchange::kernel, program_info(subgroups, true, 4 * subgroups));
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
      std::set<unsigned> seen;
   } modes;
   const unsigned before = _mm_getcsr();
   _mm_setcsr(before | 0x8040); // flush to zero, denormals are zeros
   Executor executor(3);
   for (const bool barriers : {false, true}) {
      const HandwrittenProgram program(
         [](const DispatchState *state, WorkgroupState *, uint32_t) {
            auto &modes = object_of<Modes>(state);
            const std::lock_guard lock(modes.mutex);
            modes.seen.insert(_mm_getcsr() & 0xffc0);
         },
         program_info(2, barriers));
      ASSERT_TRUE(executor.dispatch(program, state_of(modes), {100, 1, 1}));
   }
   EXPECT_EQ(_mm_getcsr() & 0xffc0, (before | 0x8040) & 0xffc0);
   _mm_setcsr(before);
   EXPECT_EQ(modes.seen, std::set<unsigned>{0x1f80});
}

TEST(Executor, UsesTheCpusOfItsAffinityMask)
{
   // In a thread of its own: the mask is inherited by the executor's threads and must not outlive the test.
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
