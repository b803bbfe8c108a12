// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "vk_object.h"

#include <string>

namespace weft {

/// Tells the application's debug messengers, and stderr with WEFT_DEBUG=log.
void report_error(vk_object_base *, const std::string &message);

} // namespace weft
