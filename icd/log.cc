// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/log.h"

#include "backend/cpu/options.h"

#include "vk_log.h"

#include <cstdio>

namespace weft {

namespace {

void report(VkDebugUtilsMessageSeverityFlagBitsEXT severity, vk_object_base *about,
            const std::string &message)
{
   const void *object = about;
   __vk_log(severity, VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT, 1, &object, __FILE__, __LINE__,
            "%s", message.c_str());
   if (cpu::options().has_debug("log"))
      fprintf(stderr, "weft: %s\n", message.c_str());
}

} // namespace

void report_note(vk_object_base *about, const std::string &message)
{
   report(VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT, about, message);
}

void report_error(vk_object_base *about, const std::string &message)
{
   report(VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT, about, message);
}

} // namespace weft
