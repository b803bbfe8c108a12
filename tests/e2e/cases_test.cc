// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tests of the helpers in cases.h.

#include "tests/e2e/cases.h"

#include <csignal>
#include <unistd.h>

namespace weft::e2e {

TEST(Cases, EndInTime)
{
   GTEST_FLAG_SET(death_test_style, "threadsafe");
   const auto hang = [] {
      limit_cases(1);
      for (;;)
         pause();
   };
   EXPECT_EXIT(hang(), testing::KilledBySignal(SIGABRT), "hangs");
   count_case();
}

} // namespace weft::e2e
