// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/system_memory.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

class SystemMemory : public testing::Test {
protected:
   const test::ScratchFolder folder;

   uint64_t available() const { return available_system_memory(folder.path.c_str()); }
   uint64_t total() const { return total_system_memory(folder.path.c_str()); }
};

TEST_F(SystemMemory, OfTheMachine)
{
   folder.write("proc/meminfo",
                "MemTotal:       8000 kB\nMemFree:  100 kB\nMemAvailable:   3000 kB\n");
   EXPECT_EQ(available(), 3000u * 1024);
   EXPECT_GT(total(), 1u << 20);
   folder.write("sys/fs/cgroup/memory.max", "max\n");
   folder.write("sys/fs/cgroup/memory.current", "50000\n");
   EXPECT_EQ(available(), 3000u * 1024);
}

/// Files that were read are no use of memory.
TEST_F(SystemMemory, OfAContainer)
{
   folder.write("proc/meminfo", "MemAvailable: 3000 kB\n");
   folder.write("sys/fs/cgroup/memory.max", "100000\n");
   folder.write("sys/fs/cgroup/memory.current", "99000\n");
   EXPECT_EQ(total(), 100000u);
   EXPECT_EQ(available(), 1000u);
   folder.write("sys/fs/cgroup/memory.stat", "anon 9000\nactive_file 7000\ninactive_file 80000\n");
   EXPECT_EQ(available(), 81000u);
   folder.write("sys/fs/cgroup/memory.current", "70000\n"); // read at different times
   EXPECT_EQ(available(), 100000u);
   folder.write("sys/fs/cgroup/memory.stat", "");
   folder.write("sys/fs/cgroup/memory.current", "200000\n");
   EXPECT_EQ(available(), 0u);
}

TEST_F(SystemMemory, OfAContainerOfVersionOne)
{
   folder.write("proc/meminfo", "MemAvailable: 3000 kB\n");
   folder.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "100000\n");
   folder.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "99000\n");
   folder.write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
   EXPECT_EQ(total(), 100000u);
   EXPECT_EQ(available(), 51000u);
}

} // namespace
} // namespace weft
