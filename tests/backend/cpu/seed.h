// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace weft::cpu::test {

/// From WEFT_SEED or the clock; printed, so that a failure can be repeated.
inline uint64_t test_seed()
{
   static const uint64_t seed = [] {
      const char *text = std::getenv("WEFT_SEED");
      const uint64_t s = text
                            ? std::strtoull(text, nullptr, 0)
                            : uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
      std::printf("WEFT_SEED=%llu\n", static_cast<unsigned long long>(s));
      return s;
   }();
   return seed;
}

} // namespace weft::cpu::test
