// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/fiber_stacks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace weft::cpu {
namespace {

size_t mappings()
{
   std::ifstream maps("/proc/self/maps");
   std::string line;
   size_t count = 0;
   while (std::getline(maps, line))
      count++;
   return count;
}

TEST(FiberStacks, CanBeUsedFromTopToBottom)
{
   FiberStacks stacks;
   bool changed = false;
   ASSERT_TRUE(stacks.reserve(20, 10000, changed));
   EXPECT_TRUE(changed);
   for (uint32_t i = 0; i < 20; i++) {
      EXPECT_GE(stacks.size(i), 10000u);
      std::memset(stacks.top(i) - stacks.size(i), int(i + 1), stacks.size(i));
   }
   for (uint32_t i = 0; i < 20; i++) {
      EXPECT_EQ(stacks.top(i)[-1], std::byte(i + 1)) << i;
      EXPECT_EQ(stacks.top(i)[-ptrdiff_t(stacks.size(i))], std::byte(i + 1)) << i;
   }
}

TEST(FiberStacks, StayWhereTheyAreUntilMoreIsWanted)
{
   FiberStacks stacks;
   bool changed = false;
   ASSERT_TRUE(stacks.reserve(4, 10000, changed));
   std::byte *const top = stacks.top(3);
   ASSERT_TRUE(stacks.reserve(2, 10000, changed));
   EXPECT_FALSE(changed);
   ASSERT_TRUE(stacks.reserve(4, 5000, changed));
   EXPECT_FALSE(changed);
   EXPECT_EQ(stacks.top(3), top);
   ASSERT_TRUE(stacks.reserve(2, 100000, changed));
   EXPECT_TRUE(changed);
   EXPECT_GE(stacks.size(3), 100000u);
}

TEST(FiberStacksDeathTest, HaveGuardPages)
{
   FiberStacks stacks;
   bool changed;
   ASSERT_TRUE(stacks.reserve(3, 10000, changed));
   for (uint32_t i = 0; i < 3; i++) {
      volatile std::byte *below = stacks.top(i) - stacks.size(i) - 1;
      EXPECT_DEATH(*below = std::byte(1), "") << i;
   }
}

/// As many as 512 threads have that run workgroups of 1024 invocations with subgroups of 8, twice
/// the mappings that Linux allows (vm.max_map_count) if each had a guard page.
TEST(FiberStacks, LeaveMappingsToTheApplication)
{
   const size_t before = mappings();
   std::vector<std::unique_ptr<FiberStacks>> threads;
   for (uint32_t i = 0; i < 512; i++) {
      threads.push_back(std::make_unique<FiberStacks>());
      bool changed;
      ASSERT_TRUE(threads.back()->reserve(128, 16384, changed)) << i;
      *(threads.back()->top(127) - threads.back()->size(127)) = std::byte(1);
   }
   EXPECT_LT(mappings() - before, 20000u);
   // What is given back can be had again: there are guard pages again.
   threads.clear();
   FiberStacks stacks;
   bool changed;
   const size_t without = mappings();
   ASSERT_TRUE(stacks.reserve(128, 16384, changed));
   EXPECT_GE(mappings() - without, 255u);
}

} // namespace
} // namespace weft::cpu
