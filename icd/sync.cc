// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sync.h"

#include "icd/device.h"

#include <algorithm>

namespace weft {
namespace {

TimelineSync *as_timeline(vk_sync *sync)
{
   return reinterpret_cast<TimelineSync *>(sync);
}

Progress &progress_of(vk_device *device)
{
   return reinterpret_cast<Device *>(device)->progress;
}

VkResult init(vk_device *, vk_sync *sync, uint64_t initial_value)
{
   as_timeline(sync)->value = initial_value;
   as_timeline(sync)->pending = initial_value;
   as_timeline(sync)->polls = {};
   return VK_SUCCESS;
}

void finish(vk_device *, vk_sync *) {}

VkResult signal(vk_device *device, vk_sync *sync, uint64_t value)
{
   TimelineSync *timeline = as_timeline(sync);
   progress_of(device).update([&] {
      timeline->value = std::max(timeline->value, value);
      timeline->pending = std::max(timeline->pending, value);
   });
   return VK_SUCCESS;
}

VkResult get_value(vk_device *device, vk_sync *sync, uint64_t *value)
{
   TimelineSync *timeline = as_timeline(sync);
   Progress &progress = progress_of(device);
   std::unique_lock lock(progress.mutex);
   // A program that queries after it submitted a signal operation may be waiting for it.
   if (timeline->value < timeline->pending)
      progress.pause_poll(lock, timeline->polls);
   *value = timeline->value;
   return VK_SUCCESS;
}

VkResult wait_many(vk_device *device, uint32_t wait_count, const struct vk_sync_wait *waits,
                   vk_sync_wait_flags flags, uint64_t abs_timeout_ns)
{
   auto reached = [&](const struct vk_sync_wait &wait) {
      const TimelineSync *timeline = as_timeline(wait.sync);
      return (flags & VK_SYNC_WAIT_PENDING ? timeline->pending : timeline->value) >=
             wait.wait_value;
   };
   auto all_reached = [&] {
      return flags & VK_SYNC_WAIT_ANY ? std::any_of(waits, waits + wait_count, reached)
                                      : std::all_of(waits, waits + wait_count, reached);
   };
   // A lost device accepts no further submission that could signal.
   bool lost = false;
   auto done = [&] {
      const bool is_done = all_reached();
      lost = !is_done && vk_device_is_lost_no_report(device);
      return is_done || lost;
   };
   // A loop that polls several objects counts as polling the first.
   Polls none, &polls = wait_count > 0 ? as_timeline(waits[0].sync)->polls : none;
   if (!progress_of(device).wait(abs_timeout_ns, polls, done))
      return VK_TIMEOUT;
   return lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

vk_sync_type make_timeline_sync_type()
{
   vk_sync_type type = {};
   type.size = sizeof(TimelineSync);
   type.features = vk_sync_features(VK_SYNC_FEATURE_TIMELINE | VK_SYNC_FEATURE_GPU_WAIT |
                                    VK_SYNC_FEATURE_CPU_WAIT | VK_SYNC_FEATURE_CPU_SIGNAL |
                                    VK_SYNC_FEATURE_WAIT_ANY | VK_SYNC_FEATURE_WAIT_PENDING |
                                    VK_SYNC_FEATURE_WAIT_BEFORE_SIGNAL);
   type.init = init;
   type.finish = finish;
   type.signal = signal;
   type.get_value = get_value;
   type.wait_many = wait_many;
   return type;
}

} // namespace

const vk_sync_type timeline_sync_type = make_timeline_sync_type();

} // namespace weft
