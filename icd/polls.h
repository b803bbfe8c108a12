// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Status queries of one object, such as vkGetFenceStatus, and the pauses that they make.
///
/// While the queue's work may take all CPUs, a program that asks in a loop takes one from it, and
/// sched_yield() gives back no more than the scheduler thinks fair. So all but the first queries of
/// a loop pause then, until the state of any object changes or the longest pause is over. A program
/// with work of its own between two queries, or that sleeps between them, never waits.

#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
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
         // Of what getrusage() tells, the time is only as new as the scheduler's last tick.
         timespec time;
         rusage usage;
         if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0 ||
             getrusage(RUSAGE_THREAD, &usage) != 0)
            return {};
         return Caller{std::this_thread::get_id(),
                       std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec),
                       usage.ru_nvcsw};
      }
   };

   /// How long a query pauses that found nothing new. `changes` counts changes of any object:
   /// after one, a loop begins anew. A pause of zero is none.
   Duration pause(const Caller &caller, uint64_t changes, Duration longest)
   {
      using namespace std::chrono_literals;
      // llama.cpp's loop pauses for 5 to 20 us itself, in virtual machines for 60.
      constexpr Duration own_work = 80us;
      // What soon ends is not worth a pause, which takes the kernel's timer slack of 50 us at least.
      constexpr Duration patience = 20us;
      const bool goes_on =
         caller.thread == last.thread && caller.sleeps == last.sleeps && changes == last_changes;
      const Duration work = caller.cpu_time - last.cpu_time;
      last = caller;
      last_changes = changes;
      in_loop = goes_on && work < own_work ? in_loop + work : Duration();
      return in_loop < patience ? Duration() : longest;
   }

   /// A pause has ended.
   void end_pause(const Caller &caller) { last = caller; }

private:
   Caller last{};      ///< at the end of the last query
   Duration in_loop{}; ///< work since the loop began
   uint64_t last_changes = 0;
};

} // namespace weft
