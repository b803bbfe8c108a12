// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/runtime_symbols.h"

#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/runtime/lane_memory.h"

#include <cmath>
#include <cstring>

#include <algorithm>
#include <iterator>

// glibc's libmvec (2.35 and newer) declares its functions to the compiler's vectoriser only; their
// types do not matter here.  Names: _ZGV, instruction set (d: AVX2, e: AVX-512), N: unmasked,
// lanes, one v per parameter.
#define WEFT_VECTOR_F32(X) X(sinf) X(cosf) X(exp2f) X(log2f)
#define WEFT_VECTOR_F64(X) X(sin) X(cos) X(exp2) X(log2)

extern "C" {
#define WEFT_DECLARE_F32(name)                                                                     \
   void _ZGVdN8v_##name();                                                                         \
   void _ZGVeN16v_##name();
#define WEFT_DECLARE_F64(name)                                                                     \
   void _ZGVdN4v_##name();                                                                         \
   void _ZGVeN8v_##name();
WEFT_VECTOR_F32(WEFT_DECLARE_F32)
WEFT_VECTOR_F64(WEFT_DECLARE_F64)

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
/// libm's own functions are overloaded.
#define WEFT_SCALAR(type, name)                                                                    \
   {#name, reinterpret_cast<void *>(static_cast<type (*)(type)>(&::name))},
#define WEFT_ENTRIES_F32(name)                                                                     \
   WEFT_ENTRY(_ZGVdN8v_##name) WEFT_ENTRY(_ZGVeN16v_##name) WEFT_SCALAR(float, name)
#define WEFT_ENTRIES_F64(name)                                                                     \
   WEFT_ENTRY(_ZGVdN4v_##name) WEFT_ENTRY(_ZGVeN8v_##name) WEFT_SCALAR(double, name)

// What emit_math.cc and lane_pieces.cc call, and what LLVM makes of its own instructions.
const Entry entries[] = {
   WEFT_VECTOR_F32(WEFT_ENTRIES_F32) WEFT_VECTOR_F64(WEFT_ENTRIES_F64) WEFT_ENTRY(memcpy)
      WEFT_ENTRY(memmove) WEFT_ENTRY(memset)
         WEFT_ENTRY(__truncdfhf2){load_lanes_symbol, reinterpret_cast<void *>(&load_lanes)},
   {store_lanes_symbol, reinterpret_cast<void *>(&store_lanes)}};

} // namespace

void *find_runtime_symbol(std::string_view name, const CpuFeatures &cpu)
{
   if (name.starts_with("weft_tile_"))
      return find_tile_symbol(name, cpu);
   const auto found = std::find_if(std::begin(entries), std::end(entries),
                                   [&](const Entry &entry) { return entry.name == name; });
   return found != std::end(entries) ? found->address : nullptr;
}

} // namespace weft::cpu
