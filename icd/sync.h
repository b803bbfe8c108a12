// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The one synchronisation primitive of the driver: a 64-bit timeline, under fences, binary and
/// timeline semaphores. All timelines (and events and query results) of a device share one mutex
/// and one condition variable, so waiting for any of several is as simple as waiting for one, and a
/// waiter may destroy its object as soon as it wakes.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_sync.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft {

/// What wakes up whoever waits for progress of a device.
struct Progress {
   std::mutex mutex;
   std::condition_variable changed;
   /// The device is being destroyed: its queue waits for nothing any more.  Guarded by the mutex.
   bool closing = false;
   /// Since the last change.  After the first ones, a poll waits a little for the next change.
   uint32_t futile_polls = 0;
   static constexpr uint32_t patient_polls = 8;
   static constexpr std::chrono::microseconds poll_pause{50};

   /// Waits until done() is true (called with the mutex held) or the absolute time has come; false
   /// then.  The time is in nanoseconds of CLOCK_MONOTONIC, as everywhere in the runtime;
   /// UINT64_MAX waits for ever.
   template <typename Done>
   bool wait(uint64_t abs_timeout_ns, Done done)
   {
      std::unique_lock lock(mutex);
      if (done())
         return true;
      if (abs_timeout_ns == 0) {
         // A program that polls in a loop would take a CPU from the threads that do its work, of
         // which sched_yield() gives back no more than the scheduler thinks fair.
         if (++futile_polls > patient_polls)
            changed.wait_for(lock, poll_pause);
         return done();
      }
      if (abs_timeout_ns > uint64_t(INT64_MAX)) {
         changed.wait(lock, done);
         return true;
      }
      std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(abs_timeout_ns)};
      return changed.wait_until(lock, until, done);
   }

   template <typename Change>
   void update(Change change)
   {
      {
         std::lock_guard lock(mutex);
         change();
         futile_polls = 0;
      }
      changed.notify_all();
   }
};

struct TimelineSync {
   vk_sync vk;
   uint64_t value;   ///< guarded by Progress::mutex
   uint64_t pending; ///< the highest value whose signal operation has been submitted
};

extern const vk_sync_type timeline_sync_type;

} // namespace weft
