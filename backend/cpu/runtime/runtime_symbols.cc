// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/runtime_symbols.h"

#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/kernels/vector_math.h"
#include "backend/cpu/runtime/lane_memory.h"

#include <dlfcn.h>

#include <cmath>
#include <cstring>

#include <algorithm>
#include <iterator>
#include <string>

// glibc's libmvec declares its functions to the compiler's vectoriser only; their types do not
// matter here. Names: _ZGV, instruction set (d: AVX2, e: AVX-512), N: unmasked, lanes, one v per
// parameter.
extern "C" {
#define WEFT_DECLARE_F32(name)                                                                     \
   void _ZGVdN8v_##name();                                                                         \
   void _ZGVeN16v_##name();
#define WEFT_DECLARE_F64(name)                                                                     \
   void _ZGVdN4v_##name();                                                                         \
   void _ZGVeN8v_##name();
WEFT_DECLARE_F32(sinf)
WEFT_DECLARE_F32(cosf)
WEFT_DECLARE_F64(sin)
WEFT_DECLARE_F64(cos)

// The compiler's run-time library: double to half in one rounding.
void __truncdfhf2();
}

namespace weft::cpu {

namespace {

struct Entry {
   std::string_view name;
   void *address;
};

#define WEFT_ENTRY(name) {#name, reinterpret_cast<void *>(&::name)},
/// The casts select among libm's overloaded functions.
#define WEFT_SCALAR(type, name)                                                                    \
   {#name, reinterpret_cast<void *>(static_cast<type (*)(type)>(&::name))},
#define WEFT_ENTRIES_F32(name)                                                                     \
   WEFT_ENTRY(_ZGVdN8v_##name) WEFT_ENTRY(_ZGVeN16v_##name) WEFT_SCALAR(float, name)
#define WEFT_ENTRIES_F64(name)                                                                     \
   WEFT_ENTRY(_ZGVdN4v_##name) WEFT_ENTRY(_ZGVeN8v_##name) WEFT_SCALAR(double, name)

// The functions that emit_math.cc and lane_pieces.cc call, and those that LLVM calls for its
// instructions.
const Entry entries[] = {
   WEFT_ENTRIES_F32(sinf) WEFT_ENTRIES_F32(cosf) WEFT_ENTRIES_F64(sin) WEFT_ENTRIES_F64(cos)
      WEFT_SCALAR(float, exp2f) WEFT_SCALAR(float, log2f) WEFT_SCALAR(double, exp2)
         WEFT_SCALAR(double, log2) WEFT_ENTRY(memcpy) WEFT_ENTRY(memmove) WEFT_ENTRY(memset)
            WEFT_ENTRY(__truncdfhf2){load_lanes_symbol, reinterpret_cast<void *>(&load_lanes)},
   {store_lanes_symbol, reinterpret_cast<void *>(&store_lanes)}};

/// exp2 and log2 are in libmvec since glibc 2.35: a library that links to them does not load with
/// an older one.
void *find_newer_vector_function(std::string_view name)
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

void *find_runtime_symbol(std::string_view name, const CpuFeatures &cpu)
{
   if (name.starts_with("weft_tile_"))
      return find_tile_symbol(name, cpu);
   const auto found = std::find_if(std::begin(entries), std::end(entries),
                                   [&](const Entry &entry) { return entry.name == name; });
   return found != std::end(entries) ? found->address : find_newer_vector_function(name);
}

} // namespace weft::cpu
