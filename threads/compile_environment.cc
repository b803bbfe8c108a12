// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "threads/compile_environment.h"

#include "threads/host_cpu.h"

namespace weft {

CompileEnvironment::CompileEnvironment()
{
   fegetenv(&floats);
   set_default_float_mode();
   // This returns glibc's static object: nothing is allocated or needs to be freed.
   locale = uselocale(newlocale(LC_ALL_MASK, "C", nullptr));
}

CompileEnvironment::~CompileEnvironment()
{
   uselocale(locale);
   fesetenv(&floats);
}

} // namespace weft
