// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Status queries of one object, such as vkGetFenceStatus, and the pauses that they make.
///
/// A program that asks in a loop takes a CPU from the threads that do its work, and sched_yield()
/// gives back no more than the scheduler thinks fair. So queries in a loop pause now and then. A
/// pause is no longer than the program has worked in the loop since the last one, so that queries
/// cost at most half of its time. A program with much work of its own between two queries, or that
/// sleeps between them, never waits. One that does next to nothing between them for a while only
/// waits: pauses are longer then. Each ends when the state of any object changes.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sys/resource.h>
#include <thread>

namespace weft {

class Polls {
public:
   using Duration = std::chrono::nanoseconds;

   /// The thread that asks. A thread that others keep from its CPU does not work meanwhile.
   struct Caller {
      std::thread::id thread;
      Duration cpu_time;
      int64_t sleeps; ///< how often it gave up its CPU itself

      /// Nothing where the kernel does not tell.
      static std::optional<Caller> here()
      {
         rusage usage;
         if (getrusage(RUSAGE_THREAD, &usage) != 0)
            return {};
         const auto of = [](const timeval &time) {
            return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
         };
         return Caller{std::this_thread::get_id(), of(usage.ru_utime) + of(usage.ru_stime),
                       usage.ru_nvcsw};
      }
   };

   /// How long a query pauses that found nothing new. `changes` counts changes of any object:
   /// after one, a loop begins anew. A pause of zero is none.
   Duration pause(const Caller &caller, uint64_t changes, Duration longest)
   {
      using namespace std::chrono_literals;
      constexpr Duration own_work = 50us;
      // llama.cpp's loop pauses for 5 to 20 us itself.
      constexpr Duration spin = 25us, spins = 1ms;
      // The kernel adds its timer slack of 50 us to each pause.
      constexpr Duration worth_while = 20us;
      constexpr int spins_pause = 5; // times `longest`
      const bool goes_on =
         caller.thread == last.thread && caller.sleeps == last.sleeps && changes == last_changes;
      const Duration work = caller.cpu_time - last.cpu_time;
      last = caller;
      last_changes = changes;
      if (!goes_on || work >= own_work) {
         in_loop = spinning = {};
         return {};
      }
      in_loop += work;
      spinning = work < spin ? spinning + work : Duration();
      if (spinning >= spins)
         return spins_pause * longest;
      if (in_loop < worth_while)
         return {};
      const Duration result = std::min(in_loop, longest);
      in_loop = {};
      return result;
   }

   /// A pause has ended.
   void end_pause(const Caller &caller) { last = caller; }

private:
   Caller last{};       ///< at the end of the last query
   Duration in_loop{};  ///< work since the last pause
   Duration spinning{}; ///< work since the loop began to spin
   uint64_t last_changes = 0;
};

} // namespace weft
