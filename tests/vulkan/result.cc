// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/vulkan/result.h"

namespace weft::vulkan {

const char *result_name(VkResult result)
{
   switch (result) {
   case VK_SUCCESS:
      return "VK_SUCCESS";
   case VK_NOT_READY:
      return "VK_NOT_READY";
   case VK_TIMEOUT:
      return "VK_TIMEOUT";
   case VK_INCOMPLETE:
      return "VK_INCOMPLETE";
   case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
   case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
   case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
   case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
   case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
   case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
   case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
   case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
   case VK_ERROR_INVALID_SHADER_NV:
      return "VK_ERROR_INVALID_SHADER_NV";
   case VK_ERROR_UNKNOWN:
      return "VK_ERROR_UNKNOWN";
   default:
      return "another VkResult";
   }
}

VulkanError::VulkanError(VkResult result, const std::string &what, const std::string &messages)
    : std::runtime_error(what + ": " + result_name(result) + " (" + std::to_string(result) + ")" +
                         (messages.empty() ? "" : "\n" + messages)),
      result(result), messages(messages)
{
}

void check(VkResult result, const char *what)
{
   if (result != VK_SUCCESS)
      throw VulkanError(result, what);
}

} // namespace weft::vulkan
