// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// exp2 and log2 of vectors, lane by lane by libm: for glibc before 2.35, whose libmvec has
/// neither.

#pragma once

#include <cmath>
#include <string_view>

namespace weft::cpu {

/// A function under the name that libmvec gives it, and with its calling convention.
struct VectorFunction {
   std::string_view name;
   void *address;
};

constexpr int vector_functions = 4; ///< exp2f, log2f, exp2, log2
extern const VectorFunction vector_math_avx2[vector_functions];
extern const VectorFunction vector_math_avx512[vector_functions];

// In a file with other instructions each function differs, so the linker must not merge them.
namespace {

template <typename Vector, auto function>
Vector lane_by_lane(Vector x)
{
   Vector y;
   for (unsigned lane = 0; lane < sizeof(x) / sizeof(x[0]); lane++)
      y[lane] = function(x[lane]);
   return y;
}

/// The function for a vector of `bytes` bytes.
template <unsigned bytes, typename Number, Number (*function)(Number)>
void *lanes_of()
{
   using Vector [[gnu::vector_size(bytes)]] = Number;
   return reinterpret_cast<void *>(&lane_by_lane<Vector, function>);
}

} // namespace
} // namespace weft::cpu
