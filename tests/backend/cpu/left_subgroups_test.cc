// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Kernels that leave subgroups, which their plain programs run again.

#include "tests/backend/cpu/executor_programs.h"

#include <algorithm>
#include <functional>

namespace weft::cpu {
namespace {

constexpr uint32_t subgroups = 3;

/// Runs of each subgroup of each workgroup, and the subgroups that the first program leaves.
struct LeftSubgroups {
   explicit LeftSubgroups(std::array<uint32_t, 3> groups) : done(groups, {7, 5, 3}, subgroups) {}

   Visits done;
   std::function<bool(uint32_t workgroup, uint32_t subgroup)> leaves;
   std::atomic<uint32_t> attempts = 0, by_plain = 0;

   static bool first(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &test = object_of<LeftSubgroups>(state);
      test.attempts++;
      if (test.leaves(group->workgroup_id[0] - test.done.base[0], subgroup))
         return false;
      return visit(test, group, subgroup);
   }
   static bool plain(const DispatchState *state, WorkgroupState *group, uint32_t subgroup)
   {
      auto &test = object_of<LeftSubgroups>(state);
      test.by_plain++;
      return visit(test, group, subgroup);
   }

   void expect_all_once() const
   {
      EXPECT_EQ(done.strays, 0u);
      for (const std::atomic<uint32_t> &count : done.counts)
         ASSERT_EQ(count, 1u);
   }
   void forget()
   {
      for (std::atomic<uint32_t> &count : done.counts)
         count = 0;
      attempts = by_plain = 0;
   }

private:
   static bool visit(LeftSubgroups &test, WorkgroupState *group, uint32_t subgroup)
   {
      DispatchState state = state_of(test.done);
      return Visits::kernel(&state, group, subgroup);
   }
};

struct ReadyPlainProgram final : PlainProgram {
   FutureProgram future;

   explicit ReadyPlainProgram(Result<std::shared_ptr<const Program>> program)
   {
      std::promise<Result<std::shared_ptr<const Program>>> promise;
      promise.set_value(std::move(program));
      future = promise.get_future().share();
   }
   const FutureProgram &get() override { return future; }
};

/// Its plain program is another handwritten program, or an error.
class LeavingProgram final : public Program {
public:
   explicit LeavingProgram(Result<std::shared_ptr<const Program>> plain)
       : plain_program(std::move(plain))
   {
   }
   static std::shared_ptr<const Program> program(uint32_t stack_bytes = 0)
   {
      return std::make_shared<HandwrittenProgram>(LeftSubgroups::plain,
                                                  program_info(subgroups, false, 0, stack_bytes));
   }

   const ProgramInfo &info() const override { return first.info(); }
   Kernel kernel() const override { return first.kernel(); }
   PlainProgram *plain() const override { return &plain_program; }
   std::vector<std::byte> serialize() const override { return {}; }
   bool prefers_plain() const { return plain_program.is_preferred; }

private:
   const HandwrittenProgram first{LeftSubgroups::first, program_info(subgroups, false)};
   mutable ReadyPlainProgram plain_program;
};

class RunsLeftSubgroups : public testing::TestWithParam<uint32_t> {
protected:
   bool dispatch(const Program &program, LeftSubgroups &test)
   {
      DispatchState state = state_of(test);
      std::ranges::copy(test.done.base, state.base_workgroup);
      return executor.dispatch(program, state, test.done.groups);
   }

   /// Dispatches a program that a subgroup leaves in 15 workgroups. Each subgroup must run once.
   template <typename Meeting>
   void check(Meeting &test, const Program &program, uint32_t order)
   {
      DispatchState state = state_of(test);
      std::ranges::copy(test.base, state.base_workgroup);
      Executor meeting(GetParam(), order);
      ASSERT_TRUE(meeting.dispatch(program, state, test.groups));
      for (const std::atomic<uint32_t> &count : test.counts)
         ASSERT_EQ(count, 1u);
      EXPECT_EQ(test.strays + test.wrong, 0u);
      EXPECT_EQ(test.by_plain, 15 * subgroups);
   }

   Executor executor{GetParam(), 0};
};

TEST_P(RunsLeftSubgroups, Once)
{
   LeftSubgroups test({50, 4, 2});
   const LeavingProgram program(LeavingProgram::program());
   const std::function<bool(uint32_t, uint32_t)> cases[] = {
      [](uint32_t, uint32_t) { return false; },
      [](uint32_t workgroup, uint32_t subgroup) { return workgroup == 0 && subgroup == 0; },
      [](uint32_t workgroup, uint32_t subgroup) { return workgroup == 49 && subgroup == 2; },
   };
   for (const auto &leaves : cases) {
      test.leaves = leaves;
      test.forget();
      ASSERT_TRUE(dispatch(program, test));
      test.expect_all_once();
      EXPECT_EQ(test.attempts, 1200u);
      EXPECT_EQ(test.by_plain, leaves(0, 0) || leaves(49, 2) ? 8u : 0u);
      EXPECT_FALSE(program.prefers_plain());
   }
}

/// After a few subgroups that were left, the plain program runs the others too.
TEST_P(RunsLeftSubgroups, WithoutManyAttempts)
{
   LeftSubgroups test({50000, 1, 1});
   const LeavingProgram program(LeavingProgram::program());
   test.leaves = [](uint32_t, uint32_t) { return true; };
   ASSERT_TRUE(dispatch(program, test));
   test.expect_all_once();
   EXPECT_LT(test.attempts, GetParam() * 400);
   EXPECT_TRUE(program.prefers_plain());
   test.forget();
   ASSERT_TRUE(dispatch(program, test));
   test.expect_all_once();
   EXPECT_EQ(test.attempts, 0u);
}

/// Each dispatch tries the first program again if it leaves a small share.
TEST_P(RunsLeftSubgroups, OfEachDispatch)
{
   LeftSubgroups test({50000, 1, 1});
   const LeavingProgram program(LeavingProgram::program());
   test.leaves = [](uint32_t workgroup, uint32_t) { return workgroup % 20 == 7; };
   for (uint32_t i = 0; i < 2; i++) {
      test.forget();
      ASSERT_TRUE(dispatch(program, test));
      test.expect_all_once();
      EXPECT_GT(test.attempts, 0u);
      EXPECT_FALSE(program.prefers_plain());
   }
}

TEST_P(RunsLeftSubgroups, InAnyOrder)
{
   LeftSubgroups test({3000, 1, 1});
   for (const uint32_t share : {1, 3, 1000}) {
      Executor shuffling(GetParam(), 12345);
      const LeavingProgram program(LeavingProgram::program());
      test.leaves = [=](uint32_t workgroup, uint32_t) { return workgroup % share == 0; };
      test.forget();
      DispatchState state = state_of(test);
      std::ranges::copy(test.done.base, state.base_workgroup);
      ASSERT_TRUE(shuffling.dispatch(program, state, test.done.groups));
      test.expect_all_once();
   }
}

TEST_P(RunsLeftSubgroups, UnlessThePlainProgramFails)
{
   LeftSubgroups test({10, 1, 1});
   test.leaves = [](uint32_t workgroup, uint32_t) { return workgroup == 9; };
   const LeavingProgram failing(Error{"no memory"});
   EXPECT_FALSE(dispatch(failing, test));
   test.forget();
   const LeavingProgram whole(LeavingProgram::program());
   EXPECT_TRUE(dispatch(whole, test));
   test.expect_all_once();
}

/// The plain program may need more stack than the first one.
TEST_P(RunsLeftSubgroups, OnTheirOwnStacks)
{
   LeftSubgroups test({100, 1, 1});
   test.leaves = [](uint32_t workgroup, uint32_t) { return workgroup % 30 == 5; };
   const LeavingProgram program(std::shared_ptr<const Program>(std::make_shared<HandwrittenProgram>(
      [](const DispatchState *state, WorkgroupState *group, uint32_t subgroup) {
         volatile uint8_t memory[StackUser::bytes];
         std::memset(const_cast<uint8_t *>(memory), 1, StackUser::bytes);
         return LeftSubgroups::plain(state, group, subgroup) && memory[subgroup] == 1;
      },
      program_info(subgroups, false, 0, StackUser::bytes))));
   ASSERT_TRUE(dispatch(program, test));
   test.expect_all_once();
}

/// Subgroups that wait for each other begin again together. One of them leaves before or behind the
/// barrier; the others have written shared memory by then.
TEST_P(RunsLeftSubgroups, WithTheirWholeWorkgroup)
{
   struct Meeting : Visits {
      using Visits::Visits;
      std::function<bool(uint32_t workgroup, uint32_t subgroup, bool behind)> leaves;
      std::atomic<uint32_t> by_plain = 0, wrong = 0;
   };
   static constexpr auto body = [](const DispatchState *state, WorkgroupState *group,
                                   uint32_t subgroup, bool may_leave) {
      auto &test = object_of<Meeting>(state);
      const uint32_t workgroup = group->workgroup_id[0] - test.base[0];
      if (may_leave && test.leaves(workgroup, subgroup, false))
         return false;
      group->shared[subgroup] = uint8_t(workgroup + subgroup);
      group->barrier(group);
      for (uint32_t i = 0; i < subgroups; i++)
         test.wrong += group->shared[i] != uint8_t(workgroup + i);
      if (may_leave && test.leaves(workgroup, subgroup, true))
         return false;
      group->barrier(group);
      test.by_plain += !may_leave;
      return Visits::kernel(state, group, subgroup);
   };
   class Leaving final : public Program {
   public:
      const ProgramInfo &info() const override { return first.info(); }
      Kernel kernel() const override { return first.kernel(); }
      PlainProgram *plain() const override { return &plain_program; }
      std::vector<std::byte> serialize() const override { return {}; }

   private:
      const HandwrittenProgram first{
         [](const DispatchState *state, WorkgroupState *group, uint32_t subgroup) {
            return body(state, group, subgroup, true);
         },
         program_info(subgroups, true, subgroups)};
      mutable ReadyPlainProgram plain_program{
         std::shared_ptr<const Program>(std::make_shared<HandwrittenProgram>(
            [](const DispatchState *state, WorkgroupState *group, uint32_t subgroup) {
               return body(state, group, subgroup, false);
            },
            program_info(subgroups, true, subgroups)))};
   };
   for (const uint32_t order : {0, 12345}) {
      for (uint32_t who = 0; who < subgroups; who++) {
         for (const bool where : {false, true}) {
            Meeting test({300, 1, 1}, {7, 5, 3}, subgroups);
            test.leaves = [=](uint32_t workgroup, uint32_t subgroup, bool behind) {
               return workgroup % 20 == 7 && subgroup == who && behind == where;
            };
            SCOPED_TRACE(testing::Message() << "subgroup " << who << " at " << where);
            check(test, Leaving(), order);
         }
      }
   }
}

/// The subgroup `who` leaves at the step `where` in every twentieth workgroup.
struct SteppedMeeting : Visits {
   using Visits::Visits;
   uint32_t who = 0, where = 0;
   std::atomic<uint32_t> by_plain = 0, wrong = 0;

   template <bool may_leave>
   static uint32_t kernel(const DispatchState *state, WorkgroupState *group, uint32_t subgroup,
                          uint8_t *frame, uint32_t step)
   {
      auto &test = object_of<SteppedMeeting>(state);
      const uint32_t workgroup = group->workgroup_id[0] - test.base[0];
      if (may_leave && workgroup % 20 == 7 && subgroup == test.who && step == test.where)
         return left_step;
      if (step == 0) {
         frame[0] = group->shared[subgroup] = uint8_t(workgroup + subgroup);
         return first_step;
      }
      for (uint32_t i = 0; i < test.subgroups; i++)
         test.wrong += group->shared[i] != uint8_t(workgroup + i);
      test.wrong += frame[0] != uint8_t(workgroup + subgroup);
      if (step == first_step)
         return first_step + 1;
      test.by_plain += !may_leave;
      Visits::kernel(state, group, subgroup);
      return last_step;
   }
};

class SteppedLeaving final : public Program {
public:
   const ProgramInfo &info() const override { return first.info(); }
   Kernel kernel() const override { return first.kernel(); }
   PlainProgram *plain() const override { return &plain_program; }
   std::vector<std::byte> serialize() const override { return {}; }

private:
   static HandwrittenProgram program(SteppedKernel kernel)
   {
      ProgramInfo info = program_info(subgroups, true, subgroups);
      info.frame_bytes = 64;
      return {reinterpret_cast<Kernel>(reinterpret_cast<void (*)()>(kernel)), info};
   }

   const HandwrittenProgram first = program(SteppedMeeting::kernel<true>);
   mutable ReadyPlainProgram plain_program{std::shared_ptr<const Program>(
      std::make_shared<HandwrittenProgram>(program(SteppedMeeting::kernel<false>)))};
};

/// The same with a kernel whose barriers are returns.
TEST_P(RunsLeftSubgroups, WithAllTheirSteps)
{
   for (const uint32_t order : {0, 12345}) {
      for (uint32_t who = 0; who < subgroups; who++) {
         for (const uint32_t where : {0u, first_step}) {
            SteppedMeeting test({300, 1, 1}, {7, 5, 3}, subgroups);
            test.who = who;
            test.where = where;
            SCOPED_TRACE(testing::Message() << "subgroup " << who << " at " << where);
            check(test, SteppedLeaving(), order);
         }
      }
   }
}

INSTANTIATE_TEST_SUITE_P(Threads, RunsLeftSubgroups, testing::Values(1, 2, 5));

} // namespace
} // namespace weft::cpu
