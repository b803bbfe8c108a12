// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace weft::cpu {

/// The number of threads that can run at once: the CPUs of the calling thread's affinity mask,
/// which new threads inherit, or the control groups' share of them, rounded up. At least 1.
uint32_t usable_cpus();

/// The CPU time per time that control groups allow the process, in CPUs: the minimum over its own
/// group and its ancestors, of either version (cgroups(7); cpu.max, cpu.cfs_quota_us). Nothing if
/// there is no limit or it cannot be read. `root` contains proc/self/cgroup and
/// proc/self/mountinfo, and the mount points that the latter lists.
std::optional<double> cpu_quota(const std::filesystem::path &root = "/");

} // namespace weft::cpu
