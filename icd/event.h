// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "icd/sync.h"

#include "vk_object.h"

namespace weft {

struct Event {
   vk_object_base base;
   bool set;    ///< guarded by Device::progress
   Polls polls; ///< guarded likewise
};

VK_DEFINE_NONDISP_HANDLE_CASTS(Event, base, VkEvent, VK_OBJECT_TYPE_EVENT)

} // namespace weft
