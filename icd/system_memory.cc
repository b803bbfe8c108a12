// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/system_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace weft {
namespace {

constexpr uint64_t none = UINT64_MAX;

/// The number in the line that begins with `name`, as in "MemAvailable:  16 kB" and "inactive_file
/// 4096", or in a file without names. `none` if the file, the line or the number is missing
/// ("max").
uint64_t read_number(const char *root, const char *path, const char *name = "")
{
   char full_path[4096];
   if (snprintf(full_path, sizeof(full_path), "%s%s", root, path) >= int(sizeof(full_path)))
      return none;
   uint64_t value = none;
   if (FILE *file = fopen(full_path, "re")) {
      char line[256];
      unsigned long long number;
      const size_t length = strlen(name);
      while (value == none && fgets(line, sizeof(line), file)) {
         if (strncmp(line, name, length) == 0 && sscanf(line + length, "%llu", &number) == 1)
            value = number;
      }
      fclose(file);
   }
   return value;
}

/// The files in which a version of control groups (cgroups(7)) reports memory.
struct Group {
   const char *limit, *usage, *stat, *dropped_first; ///< files, and the name within `stat`
};
constexpr Group groups[] = {{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current",
                             "/sys/fs/cgroup/memory.stat", "inactive_file "},
                            {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
                             "/sys/fs/cgroup/memory/memory.usage_in_bytes",
                             "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file "}};

/// `none`: no limit.
uint64_t available_in(const Group &group, const char *root)
{
   const uint64_t limit = read_number(root, group.limit), usage = read_number(root, group.usage);
   if (limit == none || usage == none)
      return limit;
   const uint64_t files = read_number(root, group.stat, group.dropped_first);
   const uint64_t used = usage - (files == none ? 0 : std::min(files, usage));
   return limit > used ? limit - used : 0;
}

} // namespace

uint64_t total_system_memory(const char *root)
{
   uint64_t total = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
   for (const Group &group : groups)
      total = std::min(total, read_number(root, group.limit));
   return total;
}

uint64_t available_system_memory(const char *root)
{
   const uint64_t kib = read_number(root, "/proc/meminfo", "MemAvailable:");
   uint64_t available = kib == none ? 0 : kib * 1024;
   for (const Group &group : groups)
      available = std::min(available, available_in(group, root));
   return available;
}

} // namespace weft
