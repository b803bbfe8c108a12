// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The one synchronisation primitive of the driver: a 64-bit timeline, under fences, binary and
/// timeline semaphores. All timelines (and events and query results) of a device share one mutex
/// and one condition variable, so waiting for any of several is as simple as waiting for one, and a
/// waiter may destroy its object as soon as it wakes.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_sync.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft {

/// Of one object: when the last poll ended, and how many in a row came as soon after the one before as those of a loop do,
/// without any change between.  Guarded by Progress::mutex; zeros are none yet.
struct Polls {
   std::chrono::steady_clock::time_point last;
   uint32_t futile = 0;
   uint64_t changes = 0; ///< Progress::changes at the last one
};

/// What wakes up whoever waits for progress of a device.
struct Progress {
   std::mutex mutex;
   std::condition_variable changed;
   /// The device is being destroyed: its queue waits for nothing any more.  Guarded by the mutex.
   bool closing = false;
   uint64_t changes = 0; ///< how many update() has made; guarded by the mutex

   /// For a poll that found nothing new, with the mutex held: a program that polls in a loop takes a
   /// CPU from the threads that do its work, of which sched_yield() gives back no more than the
   /// scheduler thinks fair.  So all but the first polls of a loop wait for the next change, each
   /// longer than the one before; a program's own pause between polls (llama.cpp's is 20 us) then is
   /// little beside them.  Each object's polls are counted by themselves: to look at many once is no loop.
   void pause_poll(std::unique_lock<std::mutex> &lock, Polls &polls)
   {
      using namespace std::chrono_literals;
      constexpr uint32_t patience = 8;
      constexpr auto own_pause = 200us, longest = 1000us;
      const auto since_last = std::chrono::steady_clock::now() - polls.last;
      polls.futile = since_last < own_pause && polls.changes == changes ? polls.futile + 1 : 0;
      polls.changes = changes;
      if (polls.futile > patience)
         changed.wait_for(lock, std::min(25us * (polls.futile - patience), longest));
      polls.last = std::chrono::steady_clock::now();
   }

   /// Waits until done() is true (called with the mutex held) or the absolute time has come; false
   /// then.  The time is in nanoseconds of CLOCK_MONOTONIC, as everywhere in the runtime;
   /// UINT64_MAX waits for ever, and to wait until a time that is past is to poll.
   template <typename Done>
   bool wait(uint64_t abs_timeout_ns, Polls &polls, Done done)
   {
      std::unique_lock lock(mutex);
      if (done())
         return true;
      if (abs_timeout_ns > uint64_t(INT64_MAX)) {
         changed.wait(lock, done);
         return true;
      }
      const std::chrono::steady_clock::time_point until{std::chrono::nanoseconds(abs_timeout_ns)};
      if (until > std::chrono::steady_clock::now())
         return changed.wait_until(lock, until, done);
      pause_poll(lock, polls);
      return done();
   }

   /// Waits until done() is true, called with the mutex held.
   template <typename Done>
   void wait(Done done)
   {
      std::unique_lock lock(mutex);
      changed.wait(lock, done);
   }

   template <typename Change>
   void update(Change change)
   {
      {
         std::lock_guard lock(mutex);
         change();
         changes++;
      }
      changed.notify_all();
   }
};

struct TimelineSync {
   vk_sync vk;
   uint64_t value;   ///< guarded by Progress::mutex
   uint64_t pending; ///< the highest value whose signal operation has been submitted
   Polls polls;
};

extern const vk_sync_type timeline_sync_type;

} // namespace weft
