// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/runtime_symbols.h"

#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/kernels/vector_math.h"
#include "backend/cpu/runtime/decode_texels.h"
#include "backend/cpu/runtime/lane_memory.h"
#include "backend/cpu/runtime/residency.h"

#include <cmath>
#include <cstring>

#include <algorithm>
#include <iterator>
#include <string>

// The compiler's run-time library: double to half in one rounding.
extern "C" void __truncdfhf2();

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
// emit_math.cc and lanewise_access.cc call some of these functions. LLVM calls the others for its
// instructions.
const Entry entries[] = {
   WEFT_SCALAR(float, sinf) WEFT_SCALAR(float, cosf) WEFT_SCALAR(double, sin)
      WEFT_SCALAR(double, cos) WEFT_SCALAR(float, exp2f) WEFT_SCALAR(float, log2f)
         WEFT_SCALAR(double, exp2) WEFT_SCALAR(double, log2) WEFT_ENTRY(memcpy) WEFT_ENTRY(memmove)
            WEFT_ENTRY(memset)
               WEFT_ENTRY(__truncdfhf2){load_lanes_symbol, reinterpret_cast<void *>(&load_lanes)},
   {store_lanes_symbol, reinterpret_cast<void *>(&store_lanes)},
   {decode_texels_symbol, reinterpret_cast<void *>(&decode_texels)},
   {find_residency_symbol, reinterpret_cast<void *>(&find_residency)}};

} // namespace

void *find_runtime_symbol(std::string_view name, const CpuFeatures &cpu)
{
   if (name.starts_with("weft_tile_"))
      return find_tile_symbol(name, cpu);
   const auto found = std::find_if(std::begin(entries), std::end(entries),
                                   [&](const Entry &entry) { return entry.name == name; });
   return found != std::end(entries) ? found->address : find_vector_math(name);
}

} // namespace weft::cpu
