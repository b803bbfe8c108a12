// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The memory, in bytes, that the machine and the process's control group allow the process. `root`
/// is the folder that contains proc/meminfo and sys/fs/cgroup.

#pragma once

#include <cstdint>

namespace weft {

uint64_t total_system_memory(const char *root = "");
/// Free memory, plus cached files, which the kernel drops when memory is needed.
uint64_t available_system_memory(const char *root = "");

} // namespace weft
