// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime_symbols.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/tile_kernels.h"
#include "backend/cpu/lane_memory.h"

#include <cmath>
#include <cstring>

#include <algorithm>
#include <iterator>

// glibc's libmvec (2.35 and newer) declares its functions to the compiler's vectoriser only; their types do not matter
// here.  Names: _ZGV, instruction set (d: AVX2, e: AVX-512), N: unmasked, lanes, one v per parameter.
#define WEFT_VECTOR_UNARY_F32(X) \
   X(acosf) X(acoshf) X(asinf) X(asinhf) X(atanf) X(atanhf) X(cosf) X(coshf) X(exp2f) X(expf) \
   X(log2f) X(logf) X(sinf) X(sinhf) X(tanf) X(tanhf)
#define WEFT_VECTOR_UNARY_F64(X) \
   X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(exp2) X(exp) X(log2) \
   X(log) X(sin) X(sinh) X(tan) X(tanh)
#define WEFT_VECTOR_BINARY_F32(X) X(atan2f) X(powf)
#define WEFT_VECTOR_BINARY_F64(X) X(atan2) X(pow)

extern "C" {
#define WEFT_DECLARE_F32(name) void _ZGVdN8v_##name(); void _ZGVeN16v_##name();
#define WEFT_DECLARE_F64(name) void _ZGVdN4v_##name(); void _ZGVeN8v_##name();
#define WEFT_DECLARE_F32_2(name) void _ZGVdN8vv_##name(); void _ZGVeN16vv_##name();
#define WEFT_DECLARE_F64_2(name) void _ZGVdN4vv_##name(); void _ZGVeN8vv_##name();
WEFT_VECTOR_UNARY_F32(WEFT_DECLARE_F32)
WEFT_VECTOR_UNARY_F64(WEFT_DECLARE_F64)
WEFT_VECTOR_BINARY_F32(WEFT_DECLARE_F32_2)
WEFT_VECTOR_BINARY_F64(WEFT_DECLARE_F64_2)

// The compiler's run-time library: double to half in one rounding.
void __truncdfhf2();
}

namespace weft::cpu {

namespace {

struct Entry {
   std::string_view name;
   void *address;
};

/// Picks the overload of a libm function.
template <typename T>
using Unary = T (*)(T);
template <typename T>
using Binary = T (*)(T, T);

#define WEFT_ENTRY(name) {#name, reinterpret_cast<void *>(&::name)},
#define WEFT_UNARY(type, name) {#name, reinterpret_cast<void *>(Unary<type>(&::name))},
#define WEFT_BINARY(type, name) {#name, reinterpret_cast<void *>(Binary<type>(&::name))},
#define WEFT_UNARY_F32(name) WEFT_UNARY(float, name)
#define WEFT_UNARY_F64(name) WEFT_UNARY(double, name)
#define WEFT_BINARY_F32(name) WEFT_BINARY(float, name)
#define WEFT_BINARY_F64(name) WEFT_BINARY(double, name)
#define WEFT_VECTOR_F32(name) WEFT_ENTRY(_ZGVdN8v_##name) WEFT_ENTRY(_ZGVeN16v_##name)
#define WEFT_VECTOR_F64(name) WEFT_ENTRY(_ZGVdN4v_##name) WEFT_ENTRY(_ZGVeN8v_##name)
#define WEFT_VECTOR_F32_2(name) WEFT_ENTRY(_ZGVdN8vv_##name) WEFT_ENTRY(_ZGVeN16vv_##name)
#define WEFT_VECTOR_F64_2(name) WEFT_ENTRY(_ZGVdN4vv_##name) WEFT_ENTRY(_ZGVeN8vv_##name)

const Entry entries[] = {
   WEFT_VECTOR_UNARY_F32(WEFT_VECTOR_F32)
   WEFT_VECTOR_UNARY_F64(WEFT_VECTOR_F64)
   WEFT_VECTOR_BINARY_F32(WEFT_VECTOR_F32_2)
   WEFT_VECTOR_BINARY_F64(WEFT_VECTOR_F64_2)
   WEFT_VECTOR_UNARY_F32(WEFT_UNARY_F32)
   WEFT_VECTOR_UNARY_F64(WEFT_UNARY_F64)
   WEFT_VECTOR_BINARY_F32(WEFT_BINARY_F32)
   WEFT_VECTOR_BINARY_F64(WEFT_BINARY_F64)
   WEFT_BINARY_F32(fmodf)
   WEFT_BINARY_F64(fmod)
   WEFT_ENTRY(memcpy)
   WEFT_ENTRY(memmove)
   WEFT_ENTRY(memset)
   WEFT_ENTRY(__truncdfhf2)
};

} // namespace

void *find_runtime_symbol(std::string_view name)
{
   if (name.starts_with("weft_tile_"))
      return find_tile_symbol(name, host_features());
   const auto found = std::find_if(std::begin(entries), std::end(entries),
                                   [&](const Entry &entry) { return entry.name == name; });
   if (found != std::end(entries))
      return found->address;
   return find_lane_memory_symbol(name);
}

} // namespace weft::cpu
