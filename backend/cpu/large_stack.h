// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Stacks for compilers, whose recursion follows the shader and not what the application's thread has.

#pragma once

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>

namespace weft::cpu {

/// Calls `work` on a thread with a stack of its own of 256 MiB, of which only what is touched becomes
/// memory; returns, or throws, what it does.  LLVM's instruction selection can call itself once for each
/// instruction of a block, and applications create pipelines on threads with small stacks.  Where no such
/// thread can be had (limits on threads or address space), `work` runs on the calling one.
void call_on_large_stack(const std::function<void()> &work);

/// Work on threads with such stacks, beside what their starters do meanwhile.
class LargeStackThreads {
public:
   /// At most so many at once.
   explicit LargeStackThreads(uint32_t most) : most(most) {}
   /// Waits until all has been done.  In a process that was forked meanwhile nobody does it.
   ~LargeStackThreads();
   LargeStackThreads(const LargeStackThreads &) = delete;
   LargeStackThreads &operator=(const LargeStackThreads &) = delete;

   /// `work` may not throw.  It waits for its turn where the most run already; where a few wait, the calling
   /// thread does too, as what waits takes memory.  Where no thread can be had, `work` runs on the calling one.
   void start(std::function<void()> work);

private:
   struct Thread {
      LargeStackThreads *owner;
      std::function<void()> work;
      pthread_t handle;
      bool ended;
   };
   static void *run(void *thread);
   void join_ended();
   size_t most_waiting() const { return size_t(4) * most; }

   const uint32_t most;
   const pid_t process = getpid();
   std::mutex mutex; ///< of the rest
   std::condition_variable changed;
   std::list<Thread> threads;
   std::deque<std::function<void()>> waiting; ///< while the most run
   uint32_t running = 0;
};

} // namespace weft::cpu
