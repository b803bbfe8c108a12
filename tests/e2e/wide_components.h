// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrices of 64-bit components, which SPIR-V has and GLSL lacks. A shader is compiled with a
/// narrower type in its place, which has no other use in that shader, and the module is widened.

#pragma once

#include <cstdint>
#include <vector>

namespace weft::e2e {

/// Makes the module's 32-bit floats 64 bits wide: the type, its constants, the strides of arrays
/// of it.
std::vector<uint32_t> widen_floats(const std::vector<uint32_t> &spirv);

/// Makes the module's 16-bit integers of either sign 64 bits wide.  A struct in memory that holds
/// one beside other types is a std::logic_error, as the offsets of its members would be wrong.
std::vector<uint32_t> widen_shorts(const std::vector<uint32_t> &spirv);

/// Replaces the type int16_t by double, and conversions of these integers by OpFConvert, so that a
/// module can convert between both widths.
void replace_short_by_double(std::vector<uint32_t> &spirv);

} // namespace weft::e2e
