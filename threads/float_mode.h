// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The floating-point mode for compiling and running shaders, whatever the application has set.

#pragma once

#include <immintrin.h>

namespace weft {

/// SSE's control word: round to nearest, denormals kept, no traps.
constexpr unsigned default_mxcsr = 0x1f80;

/// Sets SSE's and the x87 unit's control words, and clears the flags of both.
inline void set_default_float_mode()
{
   asm volatile("fninit");
   _mm_setcsr(default_mxcsr);
}

} // namespace weft
