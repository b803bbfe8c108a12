// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/usable_cpus.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace weft::cpu::test {
namespace {

/// A folder with the files that describe a process's control groups.
class CpuQuota : public testing::Test {
protected:
   const weft::test::ScratchFolder folder;
   const std::filesystem::path &root = folder.path;

   void mount_2(const std::string &group)
   {
      folder.write("proc/self/mountinfo",
                   "22 1 0:20 / /proc rw - proc proc rw\n"
                   "30 22 0:26 " +
                      group + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
   }
};

TEST_F(CpuQuota, NoLimitWhereThereAreNoGroups)
{
   EXPECT_FALSE(cpu_quota(root));
   folder.write("proc/self/cgroup", "");
   folder.write("proc/self/mountinfo", "");
   EXPECT_FALSE(cpu_quota(root));
}

TEST_F(CpuQuota, OfAContainer)
{
   folder.write("proc/self/cgroup", "0::/\n");
   mount_2("/");
   folder.write("sys/fs/cgroup/cpu.max", "max 100000\n");
   EXPECT_FALSE(cpu_quota(root));
   folder.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
   EXPECT_EQ(cpu_quota(root), 1.5);
}

TEST_F(CpuQuota, TheLeastOfTheGroupsAround)
{
   folder.write("proc/self/cgroup", "0::/a.slice/b.service\n");
   mount_2("/");
   folder.write("sys/fs/cgroup/a.slice/b.service/cpu.max", "800000 100000\n");
   EXPECT_EQ(cpu_quota(root), 8);
   folder.write("sys/fs/cgroup/a.slice/cpu.max", "50000 25000\n");
   EXPECT_EQ(cpu_quota(root), 2);
   folder.write("sys/fs/cgroup/a.slice/b.service/cpu.max", "10000 100000\n");
   EXPECT_EQ(cpu_quota(root), 0.1);
}

/// The mounted group is not the hierarchy's first, and the process may be in another.
TEST_F(CpuQuota, OfAMountedPart)
{
   mount_2("/docker/1234");
   folder.write("sys/fs/cgroup/cpu.max", "400000 100000\n");
   folder.write("sys/fs/cgroup/x/cpu.max", "300000 100000\n");
   folder.write("proc/self/cgroup", "0::/docker/1234\n");
   EXPECT_EQ(cpu_quota(root), 4);
   folder.write("proc/self/cgroup", "0::/docker/1234/x\n");
   EXPECT_EQ(cpu_quota(root), 3);
   folder.write("proc/self/cgroup", "0::/docker/5678\n");
   EXPECT_EQ(cpu_quota(root), 4);
}

TEST_F(CpuQuota, OfVersion1)
{
   folder.write("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n3:cpuset:/\n0::/\n");
   folder.write("proc/self/mountinfo",
                "31 30 0:27 / /sys/fs/cgroup/cpuset rw shared:10 - cgroup cgroup rw,cpuset\n"
                "32 30 0:28 / /sys/fs/cgroup/cpu rw shared:11 - cgroup cgroup rw,cpu,cpuacct\n");
   folder.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
   folder.write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
   EXPECT_FALSE(cpu_quota(root));
   folder.write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000\n");
   EXPECT_EQ(cpu_quota(root), 2.5);
}

TEST_F(CpuQuota, DamagedFilesLimitNothing)
{
   folder.write("proc/self/cgroup", "0::/\nnothing\n::\n");
   folder.write("proc/self/mountinfo",
                "- -\n\n30 22 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n30 - cgroup2");
   for (const char *text : {"", "0 0", "100000", "100000 0", "-5 100000", "x y"}) {
      folder.write("sys/fs/cgroup/cpu.max", text);
      EXPECT_FALSE(cpu_quota(root)) << text;
   }
}

TEST(UsableCpus, IsAtLeastOne)
{
   EXPECT_GE(usable_cpus(), 1u);
}

} // namespace
} // namespace weft::cpu::test
