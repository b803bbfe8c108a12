// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/sync_file.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <unistd.h>

namespace weft {
namespace {

TEST(SyncFile, OtherFilesAreNone)
{
   int ends[2];
   ASSERT_EQ(pipe(ends), 0);
   EXPECT_FALSE(is_sync_file(ends[0]));
   close(ends[0]);
   close(ends[1]);
   EXPECT_FALSE(is_sync_file(ends[0]));
   EXPECT_FALSE(wait_until_readable(ends[0]));
}

/// The kernel of a test machine makes no sync files, so a pipe takes their place.
TEST(SyncFile, WaitEndsWithTheSignal)
{
   int ends[2];
   ASSERT_EQ(pipe(ends), 0);
   std::atomic<bool> signaled = false;
   std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      signaled = true;
      EXPECT_EQ(write(ends[1], "", 1), 1);
   });
   EXPECT_TRUE(wait_until_readable(ends[0]));
   EXPECT_TRUE(signaled);
   later.join();
   close(ends[0]);
   close(ends[1]);
}

} // namespace
} // namespace weft
