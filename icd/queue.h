// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The only queue of a family: a thread that takes submissions in order, waits for their
/// semaphores, runs their command buffers and signals.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_queue.h"

#include "backend/cpu/runtime/executor.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace weft {

struct Device;
struct QueueActivity;

/// A copy of a vk_queue_submit that outlives vkQueueSubmit; one allocation, with its arrays behind
/// it.
struct Submission {
   Submission *next;
   uint32_t wait_count, command_buffer_count, signal_count, temporary_count, bind_count;
   struct TimelineSync *temporaries; ///< among the waits, imported for one wait
   struct vk_sync_wait *waits;
   vk_command_buffer **command_buffers;
   struct vk_sync_signal *signals;
   struct SparseBind *binds; ///< before the command buffers
};

struct Queue {
   vk_queue vk;
   std::unique_ptr<cpu::Executor> executor;
   /// The reason why the thread's current work cannot continue.
   const char *failure = "the device was destroyed while its queue was waiting";
   /// Of compute shaders that the thread has run.
   uint64_t invocations = 0;
   /// The vkCmdBeginRendering that the thread executes; null outside of renderings.
   const struct Command *rendering = nullptr;
   /// Whether a condition switches off dispatches and clears of attachments (command_condition.cc).
   bool discards = false;

   std::mutex mutex; ///< guards the members below
   std::condition_variable changed;
   Submission *first, **last_link;
   bool is_running = false; ///< the thread has taken a submission
   bool stop;
   bool lost; ///< no further work runs

   std::thread thread;

   QueueActivity &activity() const;
   Device *device() const { return reinterpret_cast<Device *>(vk.base.device); }
};

VK_DEFINE_HANDLE_CASTS(Queue, vk.base, VkQueue, VK_OBJECT_TYPE_QUEUE)

/// VK_ERROR_OUT_OF_HOST_MEMORY also if no thread can be started.
VkResult create_queue(Device *, const VkDeviceQueueCreateInfo *, Queue **);
void destroy_queue(Queue *);

} // namespace weft
