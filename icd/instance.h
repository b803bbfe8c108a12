// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The driver's VkInstance.

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_instance.h"

namespace weft {

struct Instance {
   vk_instance vk;
};

VK_DEFINE_HANDLE_CASTS(Instance, vk.base, VkInstance, VK_OBJECT_TYPE_INSTANCE)

} // namespace weft
