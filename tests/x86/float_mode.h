// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The floating-point mode of the calling thread, for tests.

#pragma once

#include <immintrin.h>

#include <compare>
#include <cstdint>

namespace weft::test {

/// The control words without flags.
struct FloatMode {
   uint32_t sse;
   uint16_t x87;
   auto operator<=>(const FloatMode &) const = default;
};

/// Round to nearest, denormals kept, no traps.
constexpr FloatMode default_float_mode = {0x1f80, 0x37f};

inline FloatMode float_mode()
{
   FloatMode mode = {_mm_getcsr() & 0xffc0, 0};
   asm volatile("fnstcw %0" : "=m"(mode.x87));
   return mode;
}

/// Makes arithmetic take denormals for zeros, and return zeros in place of denormals.
inline void flush_denormals()
{
   _mm_setcsr(_mm_getcsr() | 0x8040);
}

} // namespace weft::test
