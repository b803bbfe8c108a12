// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The executor when memory runs out, and the address space that it uses.

#include "tests/backend/cpu/executor_programs.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

/// The number of the calling thread's allocations before one fails; negative: none fails.
static thread_local int64_t allocations_left = -1;

#if !WEFT_TSAN // Clang's run time for ThreadSanitizer defines operator new itself

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

/// The address space that `work` adds.
template <typename Work>
int64_t growth(Work work)
{
   const uint64_t before = address_space_in_use();
   work();
   return int64_t(address_space_in_use()) - int64_t(before);
}

/// After a program with many small stacks and one with a large stack, the executor does not map
/// many large stacks.
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
   // Stacks that are used now and then stay mapped.
   const int64_t kept = growth([&] {
      for (int i = 0; i < 1000; i++)
         ASSERT_TRUE(visits_all_or_none(executor, i % 50 ? small : large, ran));
   });
   EXPECT_GT(kept, int64_t(256) << 20);
}

/// If the system refuses a mapping for both programs, the executor maps only the needs of the
/// current one.
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
   // Stacks for both programs would take 350 MiB; 256 MiB in old stacks and 100 MiB are free.
   const bool alone = visits_all_or_none(executor, program_info(2, true, 0, 160 << 20), ran) && ran;
   ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
   EXPECT_TRUE(alone);
}

TEST(Executor, RefusesAbsurdStacks)
{
   Executor executor(2);
   const HandwrittenProgram absurd(
      [](const DispatchState *, WorkgroupState *, uint32_t) { return true; },
      program_info(1u << 24, true, 0, ~0u));
   DispatchState state = {};
   EXPECT_FALSE(executor.dispatch(absurd, state, {1, 1, 1}));
   // The executor still runs the next program.
   Visits visits({10, 1, 1}, {0, 0, 0}, 2);
   const HandwrittenProgram program(Visits::kernel, program_info(2, true));
   ASSERT_TRUE(executor.dispatch(program, state_of(visits), visits.groups));
   for (const auto &count : visits.counts)
      EXPECT_EQ(count, 1u);
}

} // namespace
} // namespace weft::cpu
