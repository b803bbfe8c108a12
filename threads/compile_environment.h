// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The thread settings that compilers depend on.

#pragma once

#include <cfenv>
#include <locale.h>

namespace weft {

/// While it lives, the calling thread uses the default floating-point mode and the locale "C".
/// Compilers fold constants by the CPU's own instructions, and read and write numbers by the C
/// library. A thread inherits the mode from the thread that started it, and the locale from the
/// process.
class CompileEnvironment {
public:
   CompileEnvironment();
   ~CompileEnvironment();
   CompileEnvironment(const CompileEnvironment &) = delete;
   CompileEnvironment &operator=(const CompileEnvironment &) = delete;

private:
   fenv_t floats;
   locale_t locale;
};

} // namespace weft
