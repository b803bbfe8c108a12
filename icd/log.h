// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "vk_object.h"

#include <string>

namespace weft {

/// Sends a note to the application's debug messengers, and with WEFT_DEBUG=log to stderr.
void report_note(vk_object_base *, const std::string &message);
/// Reports an error to the application's debug messengers, and with WEFT_DEBUG=log to stderr.
void report_error(vk_object_base *, const std::string &message);

} // namespace weft
