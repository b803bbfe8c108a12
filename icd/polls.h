// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Status queries of one object, such as vkGetFenceStatus, and their pauses.
///
/// While the queue's work may use all CPUs, a program that polls in a loop takes one from it.
/// sched_yield() returns only the share that the scheduler considers fair. So all queries of a loop
/// except the first ones pause until the state of any object changes or the longest pause is over.
/// A program that works or sleeps between two queries never waits.

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

   /// The polling thread. CPU time, unlike wall time, does not count periods in which other threads
   /// hold the CPU.
   struct Caller {
      std::thread::id thread;
      Duration cpu_time;
      int64_t sleeps; ///< number of voluntary context switches

      /// Nothing if the kernel does not provide the numbers.
      static std::optional<Caller> here()
      {
         // getrusage()'s CPU time is only as recent as the scheduler's last tick.
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

   /// The duration of the pause for a query that found no change; zero: none. `changes` counts
   /// changes of any object; after a change, a loop begins anew.
   Duration pause(const Caller &caller, uint64_t changes, Duration longest)
   {
      using namespace std::chrono_literals;
      // llama.cpp's loop itself pauses for 5 to 20 us, in virtual machines for 60.
      constexpr Duration own_work = 80us;
      // A wait that ends sooner is not worth a pause, which takes at least the kernel's timer slack
      // of 50 us.
      constexpr Duration patience = 20us;
      const bool goes_on =
         caller.thread == last.thread && caller.sleeps == last.sleeps && changes == last_changes;
      const Duration work = caller.cpu_time - last.cpu_time;
      last = caller;
      last_changes = changes;
      in_loop = goes_on && work < own_work ? in_loop + work : Duration();
      return in_loop < patience ? Duration() : longest;
   }

   /// Call it at the end of a pause.
   void end_pause(const Caller &caller) { last = caller; }

private:
   Caller last{};      ///< at the end of the last query
   Duration in_loop{}; ///< CPU time since the loop began
   uint64_t last_changes = 0;
};

} // namespace weft
