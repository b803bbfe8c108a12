// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/large_stack.h"

#include "threads/blocked_signals.h"
#include "threads/compile_environment.h"
#include "threads/running_work.h"

#include <cassert>
#include <utility>

namespace weft {

namespace {

/// Stack sizes, tried in order. A kernel that does not overcommit charges the whole stack.
constexpr size_t stack_sizes[] = {256 << 20, 64 << 20, 16 << 20, 8 << 20};

/// False if no thread could be created.
bool create_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
   const BlockedSignals inherited;
   pthread_attr_t attributes;
   pthread_attr_init(&attributes);
   int error = 1;
   for (const size_t size : stack_sizes) {
      pthread_attr_setstacksize(&attributes, size);
      error = pthread_create(thread, &attributes, function, argument);
      if (!error)
         break;
   }
   pthread_attr_destroy(&attributes);
   return !error;
}

/// False if the process is exiting.
bool run_in_environment(const std::function<void()> &work)
{
   const RunningWork running;
   if (!running)
      return false;
   const CompileEnvironment environment;
   work();
   return true;
}

/// The threads that the calling thread belongs to.
constinit thread_local const LargeStackThreads *own_threads = nullptr;

void run_in_environment(LargeStackThreads::Work work)
{
   const RunningWork running;
   const CompileEnvironment environment;
   work(bool(running));
   work = nullptr; // destroys captured state now: it may be large, and may belong to LLVM
}

} // namespace

LargeStackThread::LargeStackThread(std::function<void()> thread_work) : work(std::move(thread_work))
{
   pthread_t thread;
   if (create_thread(&thread, run, this))
      handle = thread;
}

LargeStackThread::~LargeStackThread()
{
   if (handle)
      pthread_join(*handle, nullptr);
}

void *LargeStackThread::run(void *argument)
{
   auto &thread = *static_cast<LargeStackThread *>(argument);
   try {
      thread.done = run_in_environment(thread.work);
   } catch (...) {
      thread.exception = std::current_exception();
   }
   return nullptr;
}

bool LargeStackThread::join()
{
   assert(handle);
   pthread_join(*handle, nullptr);
   handle.reset();
   if (exception)
      std::rethrow_exception(std::exchange(exception, nullptr));
   return done;
}

bool call_on_large_stack(const std::function<void()> &work)
{
   LargeStackThread thread(work);
   return thread.has_started() ? thread.join() : run_in_environment(work);
}

bool call_in_environment(const std::function<void()> &work)
{
   return run_in_environment(work);
}

void LargeStackThreads::finish()
{
   if (getpid() != process)
      return;
   std::unique_lock lock(mutex);
   changed.wait(lock, [&] { return running == 0; });
   join_ended();
}

void LargeStackThreads::start(Work work)
{
   std::unique_lock lock(mutex);
   changed.wait(lock, [&] {
      return running < most || waiting.size() < most_waiting() || own_threads == this;
   });
   if (running == most) {
      waiting.push_back(std::move(work));
      return;
   }
   if (start_thread(work))
      return;
   lock.unlock();
   run_in_environment(std::move(work));
}

void LargeStackThreads::start_if_idle(Work work)
{
   const std::lock_guard lock(mutex);
   if (running < most)
      (void)start_thread(work);
}

/// Requires the mutex. False if no thread can be created; the work is unchanged then.
bool LargeStackThreads::start_thread(Work &work)
{
   join_ended();
   Thread &thread = threads.emplace_back(Thread{this, std::move(work), {}, false});
   if (create_thread(&thread.handle, run, &thread)) {
      running++;
      return true;
   }
   work = std::move(thread.work);
   threads.pop_back();
   return false;
}

void *LargeStackThreads::run(void *argument)
{
   auto &thread = *static_cast<Thread *>(argument);
   LargeStackThreads &all = *thread.owner;
   own_threads = &all;
   std::unique_lock lock(all.mutex, std::defer_lock);
   for (;; lock.unlock()) {
      run_in_environment(std::move(thread.work));
      lock.lock();
      if (all.waiting.empty())
         break;
      thread.work = std::move(all.waiting.front());
      all.waiting.pop_front();
      all.changed.notify_all();
   }
   thread.ended = true;
   all.running--;
   all.changed.notify_all();
   return nullptr;
}

/// Requires the mutex. Ended threads never lock it again, so joining takes no time.
void LargeStackThreads::join_ended()
{
   for (auto thread = threads.begin(); thread != threads.end();) {
      if (thread->ended) {
         pthread_join(thread->handle, nullptr);
         thread = threads.erase(thread);
      } else {
         ++thread;
      }
   }
}

} // namespace weft
