// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// WEFT_QUEUE=graphics: the device presents a queue family with graphics too, for programs that
/// only compute and look for one. Graphics pipelines are refused all the same (graphics.cc).

#pragma once

#include "vk_physical_device.h"

#include <span>

namespace weft {

/// The flags of each queue family. With the setting, the family with graphics is the first, as on
/// GPUs, and the family without it is another one: programs look for either.
std::span<const VkQueueFlags> queue_families();

/// Limits of graphics: at least the numbers of Vulkan's table "Required Limits", because programs
/// divide by them and compare them.
void get_graphics_limits(vk_properties *);

/// With the setting: features of pipelines that the device never creates, which programs require of
/// a graphics queue.
void get_graphics_features(vk_features *);

} // namespace weft
