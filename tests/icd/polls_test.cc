// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/polls.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace std::chrono_literals;

/// Queries with so much time between them, in which the time that the pauses take passes too.
struct Loop {
   Polls polls;
   Polls::Clock::time_point now{1s};
   Polls::Clock::duration longest = 50us, worked{}, paused{}, longest_seen{};
   uint64_t changes = 1;

   Polls::Clock::duration query(Polls::Clock::duration work)
   {
      now += work;
      worked += work;
      const Polls::Clock::duration pause = polls.pause(now, changes, longest);
      longest_seen = std::max(longest_seen, pause);
      if (pause > 0s) {
         now += pause;
         polls.end_pause(now);
         paused += pause;
      }
      return pause;
   }
};

TEST(Polls, TakeAtMostHalfOfALoop)
{
   for (const auto work : {100ns, 1000ns, 7000ns, 20000ns, 49000ns}) {
      Loop loop;
      loop.query(1s);
      loop.worked = {};
      for (int i = 0; i < 10000; i++)
         loop.query(work);
      EXPECT_LE(loop.paused, loop.worked) << work.count();
      // But they do give the CPU away.
      EXPECT_GE(loop.paused, loop.worked * 9 / 10) << work.count();
      EXPECT_LE(loop.longest_seen, loop.longest);
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
      for (int i = 0; i < 1000; i++)
         loop.query(3us);
      EXPECT_LE(loop.longest_seen, longest);
      EXPECT_EQ(loop.paused > 0s, longest > 0s);
   }
}

} // namespace
} // namespace weft
