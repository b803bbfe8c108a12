// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Status queries of one object, such as vkGetFenceStatus, and the pauses that they make.
///
/// A program that asks in a loop takes a CPU from the threads that do its work, and sched_yield()
/// gives back no more than the scheduler thinks fair. So queries in a loop pause now and then. A
/// pause is no longer than the loop has run since the last one, so that a query costs at most half
/// of the program's time. A program with work of its own between two queries never waits.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft {

class Polls {
public:
   using Clock = std::chrono::steady_clock;

   /// How long a query pauses that found nothing new. `changes` counts changes of any object:
   /// after one, a loop begins anew. A pause of zero is none.
   Clock::duration pause(Clock::time_point now, uint64_t changes, Clock::duration longest)
   {
      using namespace std::chrono_literals;
      // llama.cpp's loop pauses for 5 to 20 us itself.
      constexpr Clock::duration own_work = 50us;
      // The kernel adds its timer slack of 50 us to each pause.
      constexpr Clock::duration worth_while = 20us;
      const Clock::duration since_last = now - last_end;
      last_end = now;
      if (since_last >= own_work || changes != last_changes) {
         last_changes = changes;
         in_loop = {};
         return {};
      }
      in_loop += since_last;
      if (in_loop < worth_while)
         return {};
      const Clock::duration result = std::min(in_loop, longest);
      in_loop = {};
      return result;
   }

   /// A pause has ended.
   void end_pause(Clock::time_point now) { last_end = now; }

private:
   Clock::time_point last_end; ///< of the last query
   Clock::duration in_loop{};  ///< since the last pause, pauses left out
   uint64_t last_changes = 0;
};

} // namespace weft
