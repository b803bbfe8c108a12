// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace weft::cpu {

/// How many threads can run at once: the CPUs of the calling thread's affinity mask, which new threads inherit, or what
/// control groups let it have of them, rounded up.  At least 1.
uint32_t usable_cpus();

/// CPU time per time that the process's control groups allow it, in CPUs: the least of its own group's
/// and of those around it, of either version (cgroups(7); cpu.max, cpu.cfs_quota_us).  Nothing where
/// there is no limit or none can be read.  `root` has proc/self/cgroup and proc/self/mountinfo, and
/// below it are the mount points that the latter names.
std::optional<double> cpu_quota(const std::filesystem::path &root = "/");

} // namespace weft::cpu
