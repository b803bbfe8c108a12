// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Threads for compilers: their recursion follows the shader, and their results must not depend on
/// the thread that asks for them.

#pragma once

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

namespace weft {

/// One piece of work on a thread of its own.  The thread has
///   * a stack of 256 MiB, of which only touched pages take memory; where address space is short,
///   one of 64,
///     16 or 8 MiB.  LLVM's instruction selection can call itself once for each instruction of a
///     block, NIR's passes once for each nested block, and applications create pipelines on threads
///     with small stacks;
///   * a CompileEnvironment;
///   * no signals that are sent to the process (BlockedSignals).
/// It counts as RunningWork.
class LargeStackThread {
public:
   /// Does nothing where no such thread can be had: has_started() tells.
   explicit LargeStackThread(std::function<void()> work);
   ~LargeStackThread(); ///< joins
   LargeStackThread(const LargeStackThread &) = delete;
   LargeStackThread &operator=(const LargeStackThread &) = delete;

   bool has_started() const { return handle.has_value(); }
   /// Waits for the end; throws the exception that ended the work.  False if the process is ending
   /// and the work was not done.
   bool join();

private:
   static void *run(void *thread);

   const std::function<void()> work;
   std::optional<pthread_t> handle;
   std::exception_ptr exception;
   bool done = false;
};

/// Calls `work` on a LargeStackThread, or where none can be had on the calling thread, in the same
/// environment.  Throws the exception that ended the work.  False if the process is ending and the
/// work was not done.
[[nodiscard]] bool call_on_large_stack(const std::function<void()> &work);

/// The reason of an error where call_on_large_stack() has returned false.
constexpr const char process_is_ending[] = "the process is ending: nothing is compiled any more";

/// Work on threads of the same kind, beside the work that their starters do meanwhile.
class LargeStackThreads {
public:
   /// It may not throw.  Told whether it may be done: not if the process is ending.
   using Work = std::function<void(bool may_run)>;

   /// At most so many at once.
   explicit LargeStackThreads(uint32_t most) : most(most) {}
   ~LargeStackThreads() { finish(); }
   LargeStackThreads(const LargeStackThreads &) = delete;
   LargeStackThreads &operator=(const LargeStackThreads &) = delete;

   /// The work waits for its turn where the most run already; where a few wait, the calling thread
   /// does too, as waiting work takes memory.  Where no thread can be had, the work runs on the
   /// calling one.
   void start(Work work);

   /// Waits until all work has been done and no thread is left.  In a process that was forked
   /// meanwhile nobody does the work, and nobody waits.
   void finish();

private:
   struct Thread {
      LargeStackThreads *owner;
      Work work;
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
   std::list<Work> waiting; ///< while the most run
   uint32_t running = 0;
};

} // namespace weft
