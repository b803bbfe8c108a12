// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/queue.h"

#include "icd/command_buffer.h"
#include "icd/device.h"
#include "icd/log.h"
#include "icd/physical_device.h"
#include "icd/sparse.h"
#include "threads/blocked_signals.h"
#include "threads/host_cpu.h"

#include "vk_alloc.h"
#include "vk_log.h"
#include "vk_util.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <pthread.h>
#include <string>

namespace weft {
namespace {

void destroy_submission(Submission *submission)
{
   std::for_each_n(submission->temporaries, submission->temporary_count,
                   [](TimelineSync &timeline) { finish_timeline(&timeline); });
   free(submission);
}

/// The runtime destroys temporary payloads, which a wait operation ends, after vkQueueSubmit. They
/// are shared, or of sync files that have signaled.
TimelineSync *keep_temporary(Submission *submission, const BinarySync &temporary)
{
   TimelineSync *timeline = &submission->temporaries[submission->temporary_count++];
   init_timeline(timeline, temporary.timeline.shared);
   timeline->own_value = temporary.timeline.own_value;
   timeline->own_pending = temporary.timeline.own_pending;
   return timeline;
}

Submission *copy_submission(const vk_queue_submit *submit)
{
   const auto temporaries =
      uint32_t(std::count_if(submit->_wait_temps, submit->_wait_temps + submit->wait_count,
                             [](const vk_sync *sync) { return sync; }));
   const uint32_t bind_count = count_sparse_binds(submit);
   size_t size = sizeof(Submission) + temporaries * sizeof(TimelineSync) +
                 submit->wait_count * sizeof(struct vk_sync_wait) +
                 submit->signal_count * sizeof(struct vk_sync_signal) +
                 submit->command_buffer_count * sizeof(vk_command_buffer *) +
                 bind_count * sizeof(SparseBind);
   // malloc, not the application's allocator: the queue's thread frees this, and allocation
   // callbacks may be called only from threads that call Vulkan.
   void *memory = malloc(size);
   if (!memory)
      return nullptr;

   auto *submission = new (memory) Submission();
   submission->wait_count = submit->wait_count;
   submission->command_buffer_count = submit->command_buffer_count;
   submission->signal_count = submit->signal_count;
   submission->bind_count = bind_count;
   submission->temporaries = reinterpret_cast<TimelineSync *>(submission + 1);
   submission->waits =
      reinterpret_cast<struct vk_sync_wait *>(submission->temporaries + temporaries);
   submission->signals =
      reinterpret_cast<struct vk_sync_signal *>(submission->waits + submit->wait_count);
   submission->command_buffers =
      reinterpret_cast<vk_command_buffer **>(submission->signals + submit->signal_count);
   submission->binds =
      reinterpret_cast<SparseBind *>(submission->command_buffers + submit->command_buffer_count);
   resolve_sparse_binds(submit, submission->binds);
   for (uint32_t i = 0; i < submit->wait_count; i++) {
      struct vk_sync_wait &wait = submission->waits[i] = submit->waits[i];
      if (BinarySync *binary = as_binary(wait.sync)) {
         wait.wait_value = binary->point();
         wait.sync = submit->_wait_temps[i] ? &keep_temporary(submission, *binary)->vk
                                            : &binary->timeline.vk;
      }
   }
   for (uint32_t i = 0; i < submit->signal_count; i++) {
      struct vk_sync_signal &signal = submission->signals[i] = submit->signals[i];
      if (BinarySync *binary = as_binary(signal.sync)) {
         signal.sync = &binary->timeline.vk;
         signal.signal_value = binary->next_point();
      }
   }
   std::copy_n(submit->command_buffers, submit->command_buffer_count, submission->command_buffers);
   return submission;
}

bool bind_all(const Submission *submission)
{
   return std::all_of(submission->binds, submission->binds + submission->bind_count, bind_sparse);
}

/// Requires the mutex of `progress`.
void signal(const Submission *submission)
{
   for (uint32_t i = 0; i < submission->signal_count; i++) {
      auto *timeline = reinterpret_cast<TimelineSync *>(submission->signals[i].sync);
      timeline->signal(submission->signals[i].signal_value);
   }
}

void complete(Queue *queue, Submission *submission)
{
   // One change for all: a thread that waits for several is woken once.
   queue->device()->progress.update([&] { signal(submission); });
   destroy_submission(submission);
}

/// Whether the submission has neither waits nor commands, and nothing precedes it. Its binds take
/// effect here: a program that gives up may free their memory, or destroy the semaphores, before
/// the thread runs. If the kernel refuses a bind, the thread reports it.
bool ends_at_once(const Queue *queue, Submission *submission)
{
   if (queue->is_running || queue->first || submission->wait_count > 0)
      return false;
   if (bind_all(submission))
      submission->bind_count = 0;
   return submission->bind_count == 0 && submission->command_buffer_count == 0;
}

/// The runtime's hook: vkQueueSubmit calls it; it passes the work to the queue's thread.
VkResult driver_submit(vk_queue *vk, vk_queue_submit *submit)
{
   auto *queue = reinterpret_cast<Queue *>(vk);
   Device *device = queue->device();
   Submission *submission = copy_submission(submit);
   if (!submission)
      return vk_error(queue, VK_ERROR_OUT_OF_HOST_MEMORY);

   device->progress.update([&] {
      for (uint32_t i = 0; i < submission->signal_count; i++) {
         auto *timeline = reinterpret_cast<TimelineSync *>(submission->signals[i].sync);
         timeline->announce(submission->signals[i].signal_value);
      }
   });

   {
      std::lock_guard lock(queue->mutex);
      if (queue->lost) {
         destroy_submission(submission);
         return VK_ERROR_DEVICE_LOST;
      }
      if (!ends_at_once(queue, submission)) {
         *queue->last_link = submission;
         queue->last_link = &submission->next;
         queue->activity().works = true;
         submission = nullptr;
      }
   }
   if (submission)
      complete(queue, submission);
   else
      queue->changed.notify_one();
   return VK_SUCCESS;
}

/// False if the device is lost or destroyed meanwhile: the rest of the submission does not run.
bool wait_for_semaphores(Queue *queue, const Submission *submission)
{
   const auto *begin = submission->waits, *end = begin + submission->wait_count;
   return wait_in_queue(queue, [&] {
      return std::all_of(begin, end, [](const struct vk_sync_wait &wait) {
         return reinterpret_cast<TimelineSync *>(wait.sync)->value() >= wait.wait_value;
      });
   });
}

/// False if it did not run to its end.
bool run_submission(Queue *queue, const Submission *submission)
{
   if (!wait_for_semaphores(queue, submission))
      return false;
   if (!bind_all(submission)) {
      queue->failure = "the kernel refused the mapping of sparse memory";
      return false;
   }
   for (uint32_t i = 0; i < submission->command_buffer_count; i++) {
      if (!execute_command_buffer(
             queue, reinterpret_cast<CommandBuffer *>(submission->command_buffers[i])))
         return false;
   }
   return true;
}

/// Drops a submission and all later ones, which may depend on work that did not run. Programs may
/// destroy objects of their work as soon as they know that the device is lost: by then nothing here
/// refers to them.
void lose(Queue *queue, Submission *submission)
{
   Device *device = queue->device();
   report_error(&device->vk.base, std::string("the device is lost: ") + queue->failure);
   {
      std::lock_guard lock(queue->mutex);
      submission->next = queue->first;
      queue->first = nullptr;
      queue->last_link = &queue->first;
      queue->lost = true;
   }
   device->progress.update([&] {
      for (const Submission *s = submission; s; s = s->next)
         signal(s);
      vk_queue_set_lost(&queue->vk, "%s", queue->failure);
   });
   while (submission) {
      Submission *next = submission->next;
      destroy_submission(submission);
      submission = next;
   }
}

void run_queue(Queue *queue)
{
   pthread_setname_np(pthread_self(), "weft-queue");
   set_default_float_mode(); // the thread inherited the mode of the one that created the device
   for (;;) {
      Submission *submission;
      {
         std::unique_lock lock(queue->mutex);
         queue->activity().works = queue->first != nullptr;
         queue->is_running = false;
         queue->changed.wait(lock, [&] { return queue->first || queue->stop; });
         if (!queue->first)
            return;
         submission = queue->first;
         queue->is_running = true;
         queue->first = submission->next;
         if (!queue->first)
            queue->last_link = &queue->first;
      }
      if (!run_submission(queue, submission)) {
         lose(queue, submission);
         continue;
      }
      complete(queue, submission);
   }
}

/// The results of VkDeviceQueueGlobalPriorityCreateInfo for priorities that are not listed.
VkResult check_priority(Device *device, const VkDeviceQueueCreateInfo *info)
{
   const auto *global = vk_find_struct_const(info->pNext, DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO);
   if (!global || global->globalPriority == only_global_priority)
      return VK_SUCCESS;
   if (device->vk.enabled_features.globalPriorityQuery)
      return vk_errorf(device, VK_ERROR_INITIALIZATION_FAILED, "the queue has one global priority");
   return global->globalPriority < only_global_priority ? VK_SUCCESS : VK_ERROR_NOT_PERMITTED;
}

} // namespace

QueueActivity &Queue::activity() const
{
   return device()->progress.queues[vk.queue_family_index];
}

VkResult create_queue(Device *device, const VkDeviceQueueCreateInfo *info, Queue **queue_out)
{
   if (const VkResult result = check_priority(device, info); result != VK_SUCCESS)
      return result;
   void *memory = vk_zalloc(&device->vk.alloc, sizeof(Queue), 8, VK_SYSTEM_ALLOCATION_SCOPE_DEVICE);
   if (!memory)
      return vk_error(device, VK_ERROR_OUT_OF_HOST_MEMORY);
   auto *queue = new (memory) Queue();
   queue->last_link = &queue->first;

   VkResult result = vk_queue_init(&queue->vk, &device->vk, info, 0);
   if (result != VK_SUCCESS) {
      queue->~Queue();
      vk_free(&device->vk.alloc, memory);
      return result;
   }
   queue->vk.driver_submit = driver_submit;

   // The standard library throws if no thread or memory is available; the exception ends here.
   try {
      queue->executor = std::make_unique<cpu::Executor>();
      queue->activity().executor = queue->executor.get();
      const BlockedSignals inherited;
      queue->thread = std::thread(run_queue, queue);
   } catch (const std::exception &e) {
      result =
         vk_errorf(device, VK_ERROR_OUT_OF_HOST_MEMORY, "cannot start the queue: %s", e.what());
      vk_queue_finish(&queue->vk);
      queue->~Queue();
      vk_free(&device->vk.alloc, memory);
      return result;
   }
   *queue_out = queue;
   return VK_SUCCESS;
}

void destroy_queue(Queue *queue)
{
   Device *device = queue->device();
   {
      std::lock_guard lock(queue->mutex);
      queue->stop = true;
   }
   queue->changed.notify_one();
   // Vulkan requires an idle queue here. If the queue waits for something that never comes, the
   // destruction must not wait with it.
   device->progress.update([&] { device->progress.closing = true; });
   queue->thread.join();
   vk_queue_finish(&queue->vk);
   queue->~Queue();
   vk_free(&device->vk.alloc, queue);
}

} // namespace weft
