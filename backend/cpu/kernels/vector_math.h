// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// libm's functions for vectors: the symbols that generated code calls, by the vector function ABI
/// of the CPU family, and the functions. The folder of the CPU family implements both
/// (x86/vector_math.cc).

#pragma once

#include <string>
#include <string_view>

namespace weft::cpu {

/// The symbol of sin, cos, exp2 or log2 (of floats: sinf, …) for a vector that fills `lanes` lanes
/// of `bits` each.
std::string vector_math_symbol(std::string_view function, unsigned lanes, unsigned bits);

/// Null for other names.
void *find_vector_math(std::string_view symbol);

} // namespace weft::cpu
