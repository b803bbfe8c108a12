// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/large_stack.h"

#include "backend/cpu/runtime/blocked_signals.h"

#include <pthread.h>

#include <future>

namespace weft::cpu {

namespace {

constexpr size_t stack_bytes = 256 << 20;

using Task = std::packaged_task<void()>; // keeps exceptions for the thread that waits

void *run(void *task)
{
   (*static_cast<Task *>(task))();
   return nullptr;
}

} // namespace

void call_on_large_stack(const std::function<void()> &work)
{
   Task task(work);
   pthread_attr_t attributes;
   pthread_attr_init(&attributes);
   pthread_attr_setstacksize(&attributes, stack_bytes);
   pthread_t thread;
   int error;
   {
      const BlockedSignals inherited;
      error = pthread_create(&thread, &attributes, run, &task);
   }
   pthread_attr_destroy(&attributes);
   if (error)
      task();
   else
      pthread_join(thread, nullptr);
   task.get_future().get();
}

} // namespace weft::cpu
