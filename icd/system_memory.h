// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How much memory the machine, and the control group that the process runs in, lets us use. Bytes.  `root` has proc/meminfo
/// and sys/fs/cgroup.

#pragma once

#include <cstdint>

namespace weft {

uint64_t total_system_memory(const char *root = "");
/// Free, or what the kernel gives up as soon as it is wanted: files that it has kept in memory.
uint64_t available_system_memory(const char *root = "");

} // namespace weft
