// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How much memory the machine, and the control group that the process runs in, lets us use. Bytes.

#pragma once

#include <cstdint>

namespace weft {

uint64_t total_system_memory();
uint64_t available_system_memory();

} // namespace weft
