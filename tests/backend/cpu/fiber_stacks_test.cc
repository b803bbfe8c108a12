// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/fiber_stacks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
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
   ASSERT_TRUE(stacks.allocate(20, 10000));
   for (uint32_t i = 0; i < 20; i++) {
      EXPECT_GE(stacks.size(i), 10000u);
      std::memset(stacks.top(i) - stacks.size(i), int(i + 1), stacks.size(i));
   }
   for (uint32_t i = 0; i < 20; i++) {
      EXPECT_EQ(stacks.top(i)[-1], std::byte(i + 1)) << i;
      EXPECT_EQ(stacks.top(i)[-ptrdiff_t(stacks.size(i))], std::byte(i + 1)) << i;
   }
}

TEST(FiberStacks, HoldAsManyAndAsLargeOnesAsTheyWereMadeFor)
{
   FiberStacks stacks;
   EXPECT_FALSE(stacks.hold(1, 1));
   ASSERT_TRUE(stacks.allocate(4, 10000));
   EXPECT_TRUE(stacks.hold(4, 10000));
   EXPECT_TRUE(stacks.hold(2, 5000));
   EXPECT_TRUE(stacks.hold(4, stacks.usable_bytes()));
   EXPECT_FALSE(stacks.hold(5, 10000));
   EXPECT_FALSE(stacks.hold(4, stacks.usable_bytes() + 1));
   EXPECT_EQ(stacks.mapped(), FiberStacks::mapped(4, 10000));
   std::byte *const top = stacks.top(3);
   FiberStacks moved = std::move(stacks);
   EXPECT_EQ(moved.top(3), top);
   EXPECT_TRUE(moved.hold(4, 10000));
   ASSERT_TRUE(moved.allocate(2, 100000));
   EXPECT_GE(moved.size(1), 100000u);
   EXPECT_FALSE(moved.hold(4, 10000));
}

TEST(FiberStacksDeathTest, HaveGuardPages)
{
   FiberStacks stacks;
   ASSERT_TRUE(stacks.allocate(3, 10000));
   for (uint32_t i = 0; i < 3; i++) {
      volatile std::byte *below = stacks.top(i) - stacks.size(i) - 1;
      EXPECT_DEATH(*below = std::byte(1), "") << i;
   }
}

/// 512 threads that run workgroups of 1024 invocations in subgroups of 8. With a guard page for
/// each stack, they would need twice the mappings that Linux allows (vm.max_map_count).
TEST(FiberStacks, LeaveMappingsToTheApplication)
{
   const size_t before = mappings();
   std::vector<std::unique_ptr<FiberStacks>> threads;
   for (uint32_t i = 0; i < 512; i++) {
      threads.push_back(std::make_unique<FiberStacks>());
      ASSERT_TRUE(threads.back()->allocate(128, 16384)) << i;
      *(threads.back()->top(127) - threads.back()->size(127)) = std::byte(1);
   }
   EXPECT_LT(mappings() - before, 20000u);
   // Released stacks can be used again: their guard pages exist again.
   threads.clear();
   FiberStacks stacks;
   const size_t without = mappings();
   ASSERT_TRUE(stacks.allocate(128, 16384));
   EXPECT_GE(mappings() - without, 255u);
}

} // namespace
} // namespace weft::cpu
