// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_physical_device.h"
#include "vk_sync.h"

#include <cstddef>
#include <cstdint>

namespace weft {

/// Of the instance and the device; the manifest has it too (meson.build).
constexpr uint32_t api_version = VK_HEADER_VERSION_COMPLETE;
/// The device's limits that several files use.
constexpr uint32_t max_push_constants_size = 256;
/// Queues of different devices share the CPUs as Linux schedules them.
constexpr VkQueueGlobalPriority only_global_priority = VK_QUEUE_GLOBAL_PRIORITY_MEDIUM;
/// Dynamic buffers of each kind (uniform, storage) in all sets of a pipeline layout together.
constexpr uint32_t max_dynamic_buffers = 16;
constexpr uint32_t max_push_descriptors = 32;
constexpr uint32_t max_descriptor_buffers = 32; ///< bound at once
/// The data that captures a descriptor: zeros, because the addresses of memory and the descriptions
/// of objects suffice for a replay.
constexpr size_t capture_bytes = 8;
/// Buffers start at multiples of this, so that tiles and vectors at their start are aligned.
constexpr uint32_t memory_alignment = 64;
/// The alignment of the driver's own structures by the runtime's default allocator. It suffices for
/// descriptors, push constants and inline data, for which no access assumes more than 16.
constexpr uint32_t host_alignment = alignof(std::max_align_t);
static_assert(host_alignment >= 16);
constexpr uint64_t max_buffer_size = uint64_t(1) << 40;

/// The machine; each instance has one.
struct PhysicalDevice {
   vk_physical_device vk;

   const vk_sync_type *sync_types[3]; ///< null-terminated

   uint64_t heap_size; ///< size of each memory heap: all are the same memory
};

VK_DEFINE_HANDLE_CASTS(PhysicalDevice, vk.base, VkPhysicalDevice, VK_OBJECT_TYPE_PHYSICAL_DEVICE)

/// Finds the machine's CPU. If it lacks instructions that Weft needs, a message names them, and the
/// instance has no device, which is no error.
VkResult enumerate_physical_devices(vk_instance *);
void destroy_physical_device(vk_physical_device *);

/// The device's extensions, features and properties; each in its own file.
void get_device_extensions(vk_device_extension_table *);
void get_device_features(const vk_device_extension_table &, vk_features *);
void get_device_properties(uint64_t heap_size, vk_properties *);

} // namespace weft
