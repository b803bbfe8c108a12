// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Failures of Vulkan's commands as exceptions: in a test an uncaught one is a failure with its
/// message.

#pragma once

#include <vulkan/vulkan.h>

#include <stdexcept>
#include <string>

namespace weft::vulkan {

struct VulkanError : std::runtime_error {
   VkResult result;
   std::string messages; ///< from the driver, through VK_EXT_debug_utils
   VulkanError(VkResult result, const std::string &what, const std::string &messages = "");
};

const char *result_name(VkResult);

/// Throws a VulkanError unless the result is VK_SUCCESS.
void check(VkResult, const char *what);

} // namespace weft::vulkan
