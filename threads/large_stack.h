// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Threads for compilers: the depth of their recursion depends on the shader, and their results
/// must not depend on the calling thread.

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

/// Runs one task on a new thread. The thread has
/// * a stack of 256 MiB, of which only touched pages take memory; if address space is short, a
///   stack of 64, 16 or 8 MiB. LLVM's instruction selection may recurse once per instruction of a
///   block, NIR's passes once per nested block, and applications create pipelines on threads with
///   small stacks;
/// * a CompileEnvironment;
/// * no signals that are sent to the process (BlockedSignals).
/// The task counts as RunningWork.
class LargeStackThread {
public:
   /// Does nothing if no thread can be created: see has_started().
   explicit LargeStackThread(std::function<void()> work);
   ~LargeStackThread(); ///< joins
   LargeStackThread(const LargeStackThread &) = delete;
   LargeStackThread &operator=(const LargeStackThread &) = delete;

   bool has_started() const { return handle.has_value(); }
   /// Waits for the end; throws the exception that ended the work. False if the process is exiting
   /// and the work was not done.
   bool join();

private:
   static void *run(void *thread);

   const std::function<void()> work;
   std::optional<pthread_t> handle;
   std::exception_ptr exception;
   bool done = false;
};

/// Calls `work` on a LargeStackThread or, if none can be created, on the calling thread in the same
/// environment. Throws the exception that ended the work. False if the process is exiting and the
/// work was not done.
[[nodiscard]] bool call_on_large_stack(const std::function<void()> &work);

/// Does the same on the calling thread's own stack, without starting a thread.
[[nodiscard]] bool call_in_environment(const std::function<void()> &work);

/// The error message after one of them returned false.
constexpr const char process_is_ending[] = "the process is exiting: no shader is compiled any more";

/// Runs tasks on threads of the same kind, in parallel with the threads that start them.
class LargeStackThreads {
public:
   /// Must not throw. `may_run` is false if the process is exiting; the work must not be done then.
   using Work = std::function<void(bool may_run)>;

   /// `most` is the maximum of parallel tasks.
   explicit LargeStackThreads(uint32_t most) : most(most) {}
   ~LargeStackThreads() { finish(); }
   LargeStackThreads(const LargeStackThreads &) = delete;
   LargeStackThreads &operator=(const LargeStackThreads &) = delete;

   /// If the maximum is running, the task waits in a queue. If the queue is full, the calling
   /// thread waits too, because waiting tasks take memory; a task that calls this does not wait,
   /// because all tasks might. If no thread can be created, the task runs on the calling thread.
   void start(Work work);
   /// If fewer than the maximum are running, starts the task on a thread of its own, else does
   /// nothing.
   void start_if_idle(Work work);

   /// Waits until all tasks are done and no thread is left. In a forked child, tasks are not done,
   /// and this does not wait.
   void finish();

private:
   struct Thread {
      LargeStackThreads *owner;
      Work work;
      pthread_t handle;
      bool ended;
   };
   static void *run(void *thread);
   bool start_thread(Work &work);
   void join_ended();
   size_t most_waiting() const { return size_t(4) * most; }

   const uint32_t most;
   const pid_t process = getpid();
   std::mutex mutex; ///< guards the members below
   std::condition_variable changed;
   std::list<Thread> threads;
   std::list<Work> waiting; ///< while the maximum is running
   uint32_t running = 0;
};

} // namespace weft
