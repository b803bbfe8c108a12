// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/large_stack.h"

#include "backend/cpu/runtime/blocked_signals.h"

#include <future>

namespace weft::cpu {

namespace {

constexpr size_t stack_bytes = 256 << 20;

/// Zero, or why there is no thread (pthread_create(3)).
int create_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
   pthread_attr_t attributes;
   pthread_attr_init(&attributes);
   pthread_attr_setstacksize(&attributes, stack_bytes);
   int error;
   {
      const BlockedSignals inherited;
      error = pthread_create(thread, &attributes, function, argument);
   }
   pthread_attr_destroy(&attributes);
   return error;
}

using Task = std::packaged_task<void()>; // keeps exceptions for the thread that waits

void *run_task(void *task)
{
   (*static_cast<Task *>(task))();
   return nullptr;
}

} // namespace

void call_on_large_stack(const std::function<void()> &work)
{
   Task task(work);
   pthread_t thread;
   if (create_thread(&thread, run_task, &task))
      task();
   else
      pthread_join(thread, nullptr);
   task.get_future().get();
}

LargeStackThreads::~LargeStackThreads()
{
   if (getpid() != process)
      return;
   std::unique_lock lock(mutex);
   changed.wait(lock, [&] { return running == 0; });
   join_ended();
}

void LargeStackThreads::start(std::function<void()> work)
{
   std::unique_lock lock(mutex);
   changed.wait(lock, [&] { return running < most || waiting.size() < most_waiting(); });
   if (running == most) {
      waiting.push_back(std::move(work));
      return;
   }
   join_ended();
   Thread &thread = threads.emplace_back(Thread{this, std::move(work), {}, false});
   if (create_thread(&thread.handle, run, &thread) == 0) {
      running++;
      return;
   }
   work = std::move(thread.work);
   threads.pop_back();
   lock.unlock();
   work();
}

void *LargeStackThreads::run(void *argument)
{
   auto &thread = *static_cast<Thread *>(argument);
   LargeStackThreads &all = *thread.owner;
   std::unique_lock lock(all.mutex, std::defer_lock);
   for (;; lock.unlock()) {
      thread.work();
      thread.work = nullptr; // what it refers to may be large
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

/// With the mutex held.  They have given it up for good, so joining takes no time.
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

} // namespace weft::cpu
