// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's only synchronization primitive: a 64-bit timeline, under fences, binary and
/// timeline semaphores. A binary one counts as signaled if its timeline has reached its point. Each
/// signal operation has a point of its own, the next one.
///
/// All timelines (and events and query results) of a device share one mutex and one condition
/// variable. So waiting for one of several is as simple as waiting for one, and a waiter may
/// destroy its object as soon as it wakes.

#pragma once

#include <vulkan/vulkan_core.h>

#include "backend/cpu/runtime/executor.h"
#include "icd/polls.h"
#include "icd/shared_payload.h"

#include "vk_sync.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weft {

/// Queues of a device: at most one per family.
constexpr uint32_t max_queues = 2;

struct QueueActivity {
   /// The queue has work and does not wait for other threads.
   std::atomic<bool> works = false;
   const cpu::Executor *executor = nullptr;

   bool takes_all_cpus() const { return works && !executor->leaves_cpus_free(); }
};

/// Wakes all threads that wait for a device's progress.
struct Progress {
   std::mutex mutex;
   std::condition_variable changed;
   /// The device is being destroyed: its queues no longer wait. Guarded by the mutex.
   bool closing = false;
   uint64_t changes = 0; ///< number of calls of update(); guarded by the mutex

   /// The longest pause of a status query in a loop; zero: no pauses.
   Polls::Duration longest_pause{};
   std::array<QueueActivity, max_queues> queues;

   /// Called by a status query that found no change, with the mutex held.
   void pause_poll(std::unique_lock<std::mutex> &lock, Polls &polls)
   {
      // If CPUs are free, a polling loop takes none from the queue's work.
      if (longest_pause == longest_pause.zero() ||
          std::ranges::none_of(queues, &QueueActivity::takes_all_cpus))
         return;
      const auto caller = Polls::Caller::here();
      if (!caller)
         return;
      const Polls::Duration pause = polls.pause(*caller, changes, longest_pause);
      if (pause == pause.zero())
         return;
      changed.wait_for(lock, pause);
      polls.end_pause(Polls::Caller::here().value_or(*caller));
   }

   /// Waits until done() is true (called with the mutex held) or until the absolute time; false at
   /// that time. The time is in nanoseconds of CLOCK_MONOTONIC, as everywhere in the runtime.
   /// UINT64_MAX waits for ever; a time in the past polls.
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

/// Its members are guarded by Progress::mutex.
struct TimelineSync {
   vk_sync vk;
   uint64_t own_value, own_pending;
   Polls polls;
   /// Has the numbers, once they are exported or imported.
   std::shared_ptr<SharedPayload> shared;

   uint64_t value() const { return shared ? shared->page().value.load() : own_value; }
   /// The highest value of a submitted signal operation.
   uint64_t pending() const { return shared ? shared->page().pending.load() : own_pending; }
   void announce(uint64_t value);
   void signal(uint64_t value);
};

struct BinarySync {
   vk_sync vk;
   TimelineSync timeline;
   uint64_t own_point;

   uint64_t point() const
   {
      return timeline.shared ? timeline.shared->page().point.load() : own_point;
   }
   /// The point of the next signal operation.
   uint64_t next_point() { return timeline.shared ? ++timeline.shared->page().point : ++own_point; }
};

extern const vk_sync_type timeline_sync_type, binary_sync_type;

/// Null for a timeline.
BinarySync *as_binary(vk_sync *);
/// A timeline in memory that the runtime does not manage.
void init_timeline(TimelineSync *, std::shared_ptr<SharedPayload>);
void finish_timeline(TimelineSync *);

} // namespace weft
