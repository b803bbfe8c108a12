// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sync.h"

#include "icd/catching.h"
#include "icd/device.h"
#include "icd/sync_file.h"

#include "vk_log.h"

#include <algorithm>
#include <memory>
#include <utility>

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
   init_timeline(as_timeline(sync), nullptr);
   as_timeline(sync)->own_value = as_timeline(sync)->own_pending = initial_value;
   return VK_SUCCESS;
}

void finish(vk_device *, vk_sync *sync)
{
   finish_timeline(as_timeline(sync));
}

VkResult signal(vk_device *device, vk_sync *sync, uint64_t value)
{
   progress_of(device).update([&] { as_timeline(sync)->signal(value); });
   return VK_SUCCESS;
}

VkResult get_value(vk_device *device, vk_sync *sync, uint64_t *value)
{
   TimelineSync *timeline = as_timeline(sync);
   Progress &progress = progress_of(device);
   std::unique_lock lock(progress.mutex);
   // A program that queries after it submitted a signal operation may be waiting for it.
   if (timeline->value() < timeline->pending())
      progress.pause_poll(lock, timeline->polls);
   *value = timeline->value();
   return VK_SUCCESS;
}

/// timeline_of(i) and value_of(i) are the i-th wait's.
template <typename TimelineOf, typename ValueOf>
VkResult wait_for(vk_device *device, uint32_t count, vk_sync_wait_flags flags,
                  uint64_t abs_timeout_ns, TimelineOf timeline_of, ValueOf value_of)
{
   auto reached = [&](uint32_t i) {
      const TimelineSync &timeline = timeline_of(i);
      return (flags & VK_SYNC_WAIT_PENDING ? timeline.pending() : timeline.value()) >= value_of(i);
   };
   auto all_reached = [&] {
      const bool any = flags & VK_SYNC_WAIT_ANY;
      for (uint32_t i = 0; i < count; i++) {
         if (reached(i) == any)
            return any;
      }
      return !any;
   };
   // A lost device accepts no further submission that could signal.
   bool lost = false;
   auto done = [&] {
      const bool is_done = all_reached();
      lost = !is_done && vk_device_is_lost_no_report(device);
      return is_done || lost;
   };
   // A loop that polls several objects counts as polling the first.
   Polls none, &polls = count > 0 ? timeline_of(0).polls : none;
   if (!progress_of(device).wait(abs_timeout_ns, polls, done))
      return VK_TIMEOUT;
   return lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

VkResult wait_many(vk_device *device, uint32_t wait_count, const struct vk_sync_wait *waits,
                   vk_sync_wait_flags flags, uint64_t abs_timeout_ns)
{
   return wait_for(
      device, wait_count, flags, abs_timeout_ns,
      [&](uint32_t i) -> TimelineSync & { return *as_timeline(waits[i].sync); },
      [&](uint32_t i) { return waits[i].wait_value; });
}

/// The file of the payload, which from now on has the numbers.
VkResult export_payload(vk_device *device, TimelineSync *timeline, PayloadKind kind, uint64_t point,
                        int *fd)
{
   Progress &progress = progress_of(device);
   const VkResult result = catching(device, [&] {
      const std::lock_guard lock(progress.mutex);
      if (!timeline->shared)
         timeline->shared =
            SharedPayload::create(kind, timeline->own_value, timeline->own_pending, point);
      if (!timeline->shared)
         return vk_error(device, VK_ERROR_TOO_MANY_OBJECTS);
      timeline->shared->watch(progress);
      return VK_SUCCESS;
   });
   if (result != VK_SUCCESS)
      return result;
   *fd = timeline->shared->duplicate_file();
   return *fd < 0 ? vk_error(device, VK_ERROR_TOO_MANY_OBJECTS) : VK_SUCCESS;
}

VkResult import_payload(vk_device *device, TimelineSync *timeline, PayloadKind kind, int fd)
{
   Progress &progress = progress_of(device);
   return catching(device, [&] {
      std::shared_ptr<SharedPayload> payload = SharedPayload::open(fd, kind);
      if (!payload)
         return vk_errorf(device, VK_ERROR_INVALID_EXTERNAL_HANDLE,
                          "the file descriptor is no payload of this kind");
      payload->watch(progress);
      // The old payload ends without the mutex: its watcher may need it.
      const std::lock_guard lock(progress.mutex);
      std::swap(timeline->shared, payload);
      return VK_SUCCESS;
   });
}

VkResult import_timeline(vk_device *device, vk_sync *sync, int fd)
{
   return import_payload(device, as_timeline(sync), PayloadKind::timeline, fd);
}

VkResult export_timeline(vk_device *device, vk_sync *sync, int *fd)
{
   return export_payload(device, as_timeline(sync), PayloadKind::timeline, 0, fd);
}

VkResult init_binary(vk_device *, vk_sync *sync, uint64_t initial_value)
{
   BinarySync *binary = as_binary(sync);
   init_timeline(&binary->timeline, nullptr);
   binary->own_point = initial_value == 0;
   return VK_SUCCESS;
}

void finish_binary(vk_device *, vk_sync *sync)
{
   finish_timeline(&as_binary(sync)->timeline);
}

VkResult reset_binary(vk_device *, vk_sync *sync)
{
   as_binary(sync)->next_point();
   return VK_SUCCESS;
}

VkResult signal_binary(vk_device *device, vk_sync *sync, uint64_t)
{
   BinarySync *binary = as_binary(sync);
   progress_of(device).update([&] { binary->timeline.signal(binary->point()); });
   return VK_SUCCESS;
}

VkResult wait_many_binary(vk_device *device, uint32_t wait_count, const struct vk_sync_wait *waits,
                          vk_sync_wait_flags flags, uint64_t abs_timeout_ns)
{
   return wait_for(
      device, wait_count, flags, abs_timeout_ns,
      [&](uint32_t i) -> TimelineSync & { return as_binary(waits[i].sync)->timeline; },
      [&](uint32_t i) { return as_binary(waits[i].sync)->point(); });
}

VkResult import_binary(vk_device *device, vk_sync *sync, int fd)
{
   return import_payload(device, &as_binary(sync)->timeline, PayloadKind::binary, fd);
}

VkResult export_binary(vk_device *device, vk_sync *sync, int *fd)
{
   BinarySync *binary = as_binary(sync);
   return export_payload(device, &binary->timeline, PayloadKind::binary, binary->own_point, fd);
}

/// Work of other drivers signals a sync file in finite time, so the import may wait for it.
VkResult import_sync_file(vk_device *device, vk_sync *sync, int fd)
{
   if (!is_sync_file(fd) || !wait_until_readable(fd))
      return vk_errorf(device, VK_ERROR_INVALID_EXTERNAL_HANDLE,
                       "the file descriptor is no sync file");
   return signal_binary(device, sync, 0);
}

/// Only the kernel's drivers make sync files. In place of one that has signaled, Vulkan allows -1,
/// so the export waits for the signal operation, which is submitted already.
VkResult export_sync_file(vk_device *device, vk_sync *sync, int *fd)
{
   if (vk_sync_wait(device, sync, 0, VK_SYNC_WAIT_PENDING, 0) == VK_TIMEOUT)
      return vk_errorf(device, VK_ERROR_INVALID_EXTERNAL_HANDLE,
                       "no submitted operation signals the payload");
   *fd = -1;
   return vk_sync_wait(device, sync, 0, VK_SYNC_WAIT_COMPLETE, UINT64_MAX);
}

constexpr int common_features = VK_SYNC_FEATURE_GPU_WAIT | VK_SYNC_FEATURE_CPU_WAIT |
                                VK_SYNC_FEATURE_CPU_SIGNAL | VK_SYNC_FEATURE_WAIT_ANY |
                                VK_SYNC_FEATURE_WAIT_PENDING;

vk_sync_type make_timeline_sync_type()
{
   vk_sync_type type = {};
   type.size = sizeof(TimelineSync);
   type.features = vk_sync_features(common_features | VK_SYNC_FEATURE_TIMELINE |
                                    VK_SYNC_FEATURE_WAIT_BEFORE_SIGNAL);
   type.init = init;
   type.finish = finish;
   type.signal = signal;
   type.get_value = get_value;
   type.wait_many = wait_many;
   type.import_opaque_fd = import_timeline;
   type.export_opaque_fd = export_timeline;
   return type;
}

vk_sync_type make_binary_sync_type()
{
   vk_sync_type type = {};
   type.size = sizeof(BinarySync);
   type.features =
      vk_sync_features(common_features | VK_SYNC_FEATURE_BINARY | VK_SYNC_FEATURE_CPU_RESET);
   type.init = init_binary;
   type.finish = finish_binary;
   type.signal = signal_binary;
   type.reset = reset_binary;
   type.wait_many = wait_many_binary;
   type.import_opaque_fd = import_binary;
   type.export_opaque_fd = export_binary;
   type.import_sync_file = import_sync_file;
   type.export_sync_file = export_sync_file;
   return type;
}

} // namespace

const vk_sync_type timeline_sync_type = make_timeline_sync_type(),
                   binary_sync_type = make_binary_sync_type();

void TimelineSync::announce(uint64_t value)
{
   own_pending = std::max(own_pending, value);
   if (shared)
      raise(shared->page().pending, value);
}

void TimelineSync::signal(uint64_t value)
{
   announce(value);
   own_value = std::max(own_value, value);
   if (shared) {
      raise(shared->page().value, value);
      shared->tell();
   }
}

BinarySync *as_binary(vk_sync *sync)
{
   return sync->type == &binary_sync_type ? reinterpret_cast<BinarySync *>(sync) : nullptr;
}

void init_timeline(TimelineSync *timeline, std::shared_ptr<SharedPayload> shared)
{
   timeline->own_value = timeline->own_pending = 0;
   timeline->polls = {};
   std::construct_at(&timeline->shared, std::move(shared));
}

void finish_timeline(TimelineSync *timeline)
{
   std::destroy_at(&timeline->shared);
}

} // namespace weft
