// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How much memory the process may use, in bytes, by the machine and by the control group that it
/// runs in. `root` is the folder in which proc/meminfo and sys/fs/cgroup lie.

#pragma once

#include <cstdint>

namespace weft {

uint64_t total_system_memory(const char *root = "");
/// Free memory, and the files in memory that the kernel drops as soon as the memory is wanted.
uint64_t available_system_memory(const char *root = "");

} // namespace weft
