// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// exp2 and log2 of vectors, lane by lane by libm: for glibc before 2.35, whose libmvec has
/// neither.

#pragma once

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

} // namespace weft::cpu
