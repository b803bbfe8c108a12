// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/system_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace weft {
namespace {

/// The number in a one-line file of the cgroup file system; UINT64_MAX when there is none or it
/// says "max".
uint64_t read_limit(const char *path)
{
   uint64_t value = UINT64_MAX;
   if (FILE *file = fopen(path, "re")) {
      unsigned long long number;
      if (fscanf(file, "%llu", &number) == 1)
         value = number;
      fclose(file);
   }
   return value;
}

uint64_t cgroup_limit()
{
   return std::min(read_limit("/sys/fs/cgroup/memory.max"),
                   read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

uint64_t cgroup_used()
{
   uint64_t used = std::min(read_limit("/sys/fs/cgroup/memory.current"),
                            read_limit("/sys/fs/cgroup/memory/memory.usage_in_bytes"));
   return used == UINT64_MAX ? 0 : used;
}

/// MemAvailable of /proc/meminfo: free memory and what the kernel can drop without swapping.
uint64_t machine_available()
{
   uint64_t available = 0;
   if (FILE *file = fopen("/proc/meminfo", "re")) {
      char line[128];
      unsigned long long kib;
      while (fgets(line, sizeof(line), file)) {
         if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            available = uint64_t(kib) * 1024;
      }
      fclose(file);
   }
   return available;
}

} // namespace

uint64_t total_system_memory()
{
   uint64_t machine = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
   return std::min(machine, cgroup_limit());
}

uint64_t available_system_memory()
{
   uint64_t available = machine_available();
   uint64_t limit = cgroup_limit();
   if (limit != UINT64_MAX) {
      uint64_t used = cgroup_used();
      available = std::min(available, limit > used ? limit - used : 0);
   }
   return available;
}

} // namespace weft
