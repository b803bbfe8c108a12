// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/running_work.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace weft {

namespace {

/// The bit of `state` that prevents new work. The other bits count the running work.
constexpr uint32_t ended = 1u << 31;

// No destructors: threads use these while objects are destroyed.
constinit std::atomic<uint32_t> state = 0;
constinit std::atomic<uint32_t> guards = 0;
constinit std::atomic<void (*)()> end_function = nullptr;

/// The calling thread's work: exit() within work must not wait for it.
constinit thread_local uint32_t own = 0;

/// Guards cost little, but the C library keeps each of them.
constexpr uint32_t max_guards = 256;

} // namespace

void end_running_work()
{
   uint32_t now = state.fetch_or(ended, std::memory_order_acq_rel) | ended;
   while ((now & ~ended) > own) {
      state.wait(now, std::memory_order_acquire);
      now = state.load(std::memory_order_acquire);
   }
   if (void (*function)() = end_function)
      function();
}

namespace {

/// exit() calls the latest registered function first, and destructors of static objects are
/// registered after construction.
void add_guard()
{
   if (guards.load(std::memory_order_relaxed) < max_guards) {
      guards.fetch_add(1, std::memory_order_relaxed);
      std::atexit(end_running_work);
   }
}

/// Runs in a forked child, which has one thread.
void forget_work()
{
   state.store((state.load(std::memory_order_relaxed) & ended) + own, std::memory_order_relaxed);
}

bool begin()
{
   static std::once_flag once;
   std::call_once(once, [] {
      pthread_atfork(nullptr, nullptr, forget_work);
      add_guard();
   });
   uint32_t now = state.load(std::memory_order_relaxed);
   do {
      if (now & ended)
         return false;
   } while (!state.compare_exchange_weak(now, now + 1, std::memory_order_acquire));
   own++;
   return true;
}

} // namespace

RunningWork::RunningWork() : granted(begin()) {}

RunningWork::~RunningWork()
{
   if (!granted)
      return;
   add_guard();
   own--;
   state.fetch_sub(1, std::memory_order_release);
   state.notify_all();
}

void call_at_end_of_work(void (*function)())
{
   end_function = function;
}

} // namespace weft
