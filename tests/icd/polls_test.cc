// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/polls.h"

#include <gtest/gtest.h>

#include <utility>

namespace weft {
namespace {

using namespace std::chrono_literals;

/// Queries with so much work between them.
struct Loop {
   Polls polls;
   Polls::Caller caller{std::this_thread::get_id(), 1s, 0};
   Polls::Duration longest = 50us, worked{}, paused{}, longest_seen{};
   uint64_t changes = 1;

   Loop() { query(1s); }

   Polls::Duration query(Polls::Duration work)
   {
      caller.cpu_time += work;
      worked += work;
      const Polls::Duration pause = polls.pause(caller, changes, longest);
      longest_seen = std::max(longest_seen, pause);
      if (pause > 0s) {
         caller.sleeps++;
         polls.end_pause(caller);
         paused += pause;
      }
      return pause;
   }

   /// Begins to count anew.
   void forget() { worked = paused = longest_seen = {}; }
};

TEST(Polls, TakeAtMostHalfOfALoop)
{
   for (const auto work : {100ns, 1000ns, 7000ns, 20000ns, 26000ns, 49000ns}) {
      Loop loop;
      loop.forget();
      // Later a loop with less work than 25 us only waits.
      const Polls::Duration time = work < 25us ? 900us : 500ms;
      while (loop.worked < time)
         loop.query(work);
      EXPECT_LE(loop.paused, loop.worked) << work.count();
      // But they do give the CPU away.
      EXPECT_GE(loop.paused, loop.worked * 9 / 10) << work.count();
      EXPECT_LE(loop.longest_seen, loop.longest);
   }
}

TEST(Polls, TakeAlmostAllOfALoopThatOnlyWaits)
{
   for (const auto work : {1us, 7us, 20us}) {
      Loop loop;
      while (loop.worked < 1s + 2ms)
         loop.query(work);
      loop.forget();
      for (int i = 0; i < 1000; i++)
         loop.query(work);
      EXPECT_GE(loop.paused, 10 * loop.worked) << work.count();
      EXPECT_LE(loop.longest_seen, 5 * loop.longest);
      // Until there is other work.
      EXPECT_EQ(loop.query(60us), 0s);
      EXPECT_EQ(loop.query(1us), 0s);
   }
}

TEST(Polls, DoNotPauseBesideOtherWork)
{
   Loop loop;
   for (int i = 0; i < 1000; i++)
      EXPECT_EQ(loop.query(50us), 0s);
   // The first queries of a loop are none yet.
   for (int i = 0; i < 19; i++)
      EXPECT_EQ(loop.query(1us), 0s);
   EXPECT_GT(loop.query(1us), 0s);
}

TEST(Polls, DoNotPauseWhereTheProgramSleeps)
{
   Loop loop;
   for (int i = 0; i < 1000; i++) {
      loop.caller.sleeps++;
      EXPECT_EQ(loop.query(3us), 0s);
   }
}

TEST(Polls, AreOneThreadsLoop)
{
   Loop loop;
   std::thread::id other;
   std::thread([&] { other = std::this_thread::get_id(); }).join();
   for (int i = 0; i < 1000; i++) {
      std::swap(loop.caller.thread, other);
      EXPECT_EQ(loop.query(3us), 0s);
   }
}

TEST(Polls, BeginAnewWithEachChange)
{
   Loop loop;
   for (int i = 0; i < 1000; i++) {
      loop.changes += i % 10 == 0;
      EXPECT_EQ(loop.query(2us), 0s) << i;
   }
}

TEST(Polls, PauseNoLongerThanIsSet)
{
   for (const auto longest : {0us, 5us, 1000us}) {
      Loop loop;
      loop.longest = longest;
      for (int i = 0; i < 300; i++)
         loop.query(3us);
      EXPECT_LE(loop.longest_seen, longest);
      EXPECT_EQ(loop.paused > 0s, longest > 0s);
   }
}

} // namespace
} // namespace weft
