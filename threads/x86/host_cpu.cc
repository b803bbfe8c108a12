// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/host_cpu.h"

#include <immintrin.h>

namespace weft {

void set_default_float_mode()
{
   // The control words of the x87 unit and of SSE.
   constexpr unsigned default_mxcsr = 0x1f80;
   asm volatile("fninit");
   _mm_setcsr(default_mxcsr);
}

void pause_thread()
{
   _mm_pause();
}

} // namespace weft
