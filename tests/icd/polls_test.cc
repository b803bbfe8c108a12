// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/polls.h"

#include <gtest/gtest.h>

#include <utility>

namespace weft {
namespace {

using namespace std::chrono_literals;

/// A loop of queries with a given amount of work between them.
struct Loop {
   Polls polls;
   Polls::Caller caller{std::this_thread::get_id(), 1s, 0};
   Polls::Duration longest = 1000us, worked{};
   uint64_t changes = 1;

   Loop() { query(1s); }

   Polls::Duration query(Polls::Duration work)
   {
      caller.cpu_time += work;
      worked += work;
      const Polls::Duration pause = polls.pause(caller, changes, longest);
      if (pause > 0s) {
         caller.sleeps++;
         polls.end_pause(caller);
      }
      return pause;
   }

   /// Begins to count anew.
   void forget() { worked = {}; }
};

TEST(Polls, PauseInALoopThatOnlyWaits)
{
   for (const auto work : {100ns, 1000ns, 20000ns, 60000ns}) {
      Loop loop;
      loop.forget();
      // The first queries do not pause, because they do not count as a loop yet.
      while (loop.worked + work < 20us)
         EXPECT_EQ(loop.query(work), 0s) << work.count();
      for (int i = 0; i < 1000; i++)
         EXPECT_EQ(loop.query(work), loop.longest) << work.count();
      // The pauses end when the thread does other work.
      EXPECT_EQ(loop.query(90us), 0s);
      EXPECT_EQ(loop.query(1us), 0s);
   }
}

TEST(Polls, DoNotPauseBesideOtherWork)
{
   Loop loop;
   for (int i = 0; i < 1000; i++)
      EXPECT_EQ(loop.query(80us), 0s);
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

} // namespace
} // namespace weft
