// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <vulkan/vulkan_core.h>

#include "vk_log.h"

#include <exception>

namespace weft {

/// Calls f(). An exception of the standard library, which has no memory or no thread, becomes
/// VK_ERROR_OUT_OF_HOST_MEMORY; its text is reported for the object.
template <typename F>
VkResult catching(const void *object, F f)
{
   try {
      return f();
   } catch (const std::exception &e) {
      return vk_errorf(object, VK_ERROR_OUT_OF_HOST_MEMORY, "%s", e.what());
   }
}

} // namespace weft
