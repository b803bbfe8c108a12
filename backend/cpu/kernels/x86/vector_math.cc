// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Vector mathematics by glibc's libmvec. Names: _ZGV, instruction set (d: AVX2, e: AVX-512), N:
/// unmasked, lanes, one v per parameter.

#include "backend/cpu/kernels/vector_math.h"

#include "backend/cpu/kernels/x86/vector_math_lanes.h"

#include <dlfcn.h>

// libmvec declares its functions to the compiler's vectoriser only; their types do not matter here.
extern "C" {
#define WEFT_DECLARE(name)                                                                         \
   void _ZGVdN8v_##name##f();                                                                      \
   void _ZGVeN16v_##name##f();                                                                     \
   void _ZGVdN4v_##name();                                                                         \
   void _ZGVeN8v_##name();
WEFT_DECLARE(sin)
WEFT_DECLARE(cos)
#undef WEFT_DECLARE
}

namespace weft::cpu {

namespace {

#define WEFT_FUNCTION(name) {#name, reinterpret_cast<void *>(&::name)},
#define WEFT_FUNCTIONS(name)                                                                       \
   WEFT_FUNCTION(_ZGVdN8v_##name##f)                                                               \
   WEFT_FUNCTION(_ZGVeN16v_##name##f) WEFT_FUNCTION(_ZGVdN4v_##name) WEFT_FUNCTION(_ZGVeN8v_##name)
const VectorFunction linked[] = {WEFT_FUNCTIONS(sin) WEFT_FUNCTIONS(cos)};

/// exp2 and log2 are in libmvec since glibc 2.35: a library that links to them does not load with
/// an older one.
void *find_newer_function(std::string_view name)
{
   // libmvec is loaded already, for sin and cos. RTLD_DEFAULT does not find it, because it does not
   // search the dependencies of a loaded driver.
   static void *const libmvec = dlopen("libmvec.so.1", RTLD_LAZY | RTLD_LOCAL);
   for (const VectorFunction *functions : {vector_math_avx2, vector_math_avx512})
      for (int i = 0; i < vector_functions; i++)
         if (functions[i].name == name) {
            void *const glibcs = libmvec ? dlsym(libmvec, std::string(name).c_str()) : nullptr;
            return glibcs ? glibcs : functions[i].address;
         }
   return nullptr;
}

} // namespace

std::string vector_math_symbol(std::string_view function, unsigned lanes, unsigned bits)
{
   std::string symbol = lanes * bits == 512 ? "_ZGVeN" : "_ZGVdN";
   symbol += std::to_string(lanes) + "v_";
   symbol += function;
   return symbol;
}

void *find_vector_math(std::string_view symbol)
{
   for (const VectorFunction &function : linked)
      if (function.name == symbol)
         return function.address;
   return find_newer_function(symbol);
}

} // namespace weft::cpu
