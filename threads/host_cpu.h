// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Instructions of a thread that C++ cannot express. The folder of the CPU family implements them:
/// x86/host_cpu.cc.

#pragma once

namespace weft {

/// Sets the floating-point mode for compiling and running shaders, independent of the
/// application's: round to nearest, denormals kept, no traps. Clears the flags.
void set_default_float_mode();

/// Hints to the CPU that the thread spins, in each iteration of a loop that waits for memory.
void pause_thread();

} // namespace weft
