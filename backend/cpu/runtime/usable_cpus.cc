// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weft::cpu {

namespace {

namespace fs = std::filesystem;

uint32_t cpus_of_affinity_mask()
{
   for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
      cpu_set_t *set = CPU_ALLOC(capacity);
      if (!set)
         break;
      const size_t bytes = CPU_ALLOC_SIZE(capacity);
      const int failed = sched_getaffinity(0, bytes, set);
      const int count = failed ? 0 : CPU_COUNT_S(bytes, set);
      CPU_FREE(set);
      if (count > 0)
         return count;
   }
   return std::max(1u, std::thread::hardware_concurrency());
}

std::optional<double> quotient(const std::string &time, const std::string &period)
{
   // "max", -1 and text other than a number mean no limit.
   const double t = std::strtod(time.c_str(), nullptr), p = std::strtod(period.c_str(), nullptr);
   return t > 0 && p > 0 ? std::optional(t / p) : std::nullopt;
}

/// Version 2's format: "200000 100000".
std::optional<double> limit_of_group_2(const fs::path &group)
{
   std::string time, period;
   std::ifstream(group / "cpu.max") >> time >> period;
   return quotient(time, period);
}

std::optional<double> limit_of_group_1(const fs::path &group)
{
   std::string time, period;
   std::ifstream(group / "cpu.cfs_quota_us") >> time;
   std::ifstream(group / "cpu.cfs_period_us") >> period;
   return quotient(time, period);
}

bool has_word(std::string_view list, std::string_view word)
{
   while (!list.empty()) {
      const size_t end = std::min(list.find(','), list.size());
      if (list.substr(0, end) == word)
         return true;
      list.remove_prefix(std::min(end + 1, list.size()));
   }
   return false;
}

/// The process's group in the hierarchy that limits CPU time: "4:cpu,cpuacct:/a/b" in version 1,
/// "0::/a/b" in version 2.
std::optional<std::string> group_of_process(const fs::path &root, bool version_2)
{
   std::ifstream file(root / "proc/self/cgroup");
   for (std::string line; std::getline(file, line);) {
      const size_t first = line.find(':'), second = line.find(':', first + 1);
      if (second == std::string::npos)
         continue;
      const std::string_view controllers =
         std::string_view(line).substr(first + 1, second - first - 1);
      if (version_2 ? controllers.empty() : has_word(controllers, "cpu"))
         return line.substr(second + 1);
   }
   return std::nullopt;
}

struct Mount {
   std::string group; ///< the mounted group: "/" except in a container
   std::string point;
};

/// "36 35 0:31 GROUP POINT rw,nosuid shared:9 - cgroup2 cgroup2 rw" (proc_pid_mountinfo(5)).
/// Version 1 has "cgroup", and its controllers among the last options.
std::vector<Mount> mounts(const fs::path &root, bool version_2)
{
   std::vector<Mount> found;
   std::ifstream file(root / "proc/self/mountinfo");
   for (std::string line; std::getline(file, line);) {
      std::istringstream stream(line);
      const std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
      const auto dash = std::ranges::find(words, "-");
      if (words.size() < 6 || words.end() - dash < 4)
         continue;
      if (version_2 ? dash[1] == "cgroup2" : dash[1] == "cgroup" && has_word(dash[3], "cpu"))
         found.push_back({words[3], words[4]});
   }
   return found;
}

/// The minimum over the limits of the process's group and its ancestors, as far as they are
/// mounted.
template <typename Limit>
std::optional<double> least_limit(const fs::path &root, bool version_2, const Limit &limit_of_group)
{
   const std::optional<std::string> group = group_of_process(root, version_2);
   if (!group)
      return std::nullopt;
   std::optional<double> least;
   for (const Mount &mount : mounts(root, version_2)) {
      const fs::path top = root / fs::path(mount.point).relative_path();
      const fs::path inside = fs::path(*group).lexically_relative(mount.group);
      // If the group is outside of the mounted hierarchy, starts at the mounted group, which is
      // nearest.
      fs::path here =
         inside.empty() || *inside.begin() == ".." ? top : (top / inside).lexically_normal();
      for (;; here = here.parent_path()) {
         if (const std::optional<double> limit = limit_of_group(here))
            least = std::min(least.value_or(*limit), *limit);
         if (here.lexically_relative(top) == "." || !here.has_relative_path())
            break;
      }
   }
   return least;
}

} // namespace

std::optional<double> cpu_quota(const fs::path &root)
{
   const std::optional<double> v2 = least_limit(root, true, limit_of_group_2),
                               v1 = least_limit(root, false, limit_of_group_1);
   return v1 && v2 ? std::min(*v1, *v2) : v1 ? v1 : v2;
}

uint32_t usable_cpus()
{
   const uint32_t cpus = cpus_of_affinity_mask();
   const std::optional<double> quota = cpu_quota();
   return quota && *quota < cpus ? std::max(1u, uint32_t(std::ceil(*quota))) : cpus;
}

} // namespace weft::cpu
