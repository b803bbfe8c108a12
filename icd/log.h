// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <string>

namespace weft {

struct Device;

/// Tells the application's debug messengers, and stderr with WEFT_DEBUG=log.
void report_error(Device *, const std::string &message);

} // namespace weft
