// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texels of compressed blocks, decoded by Mesa's functions: generated code calls this function
/// where an image may have a compressed format.

#pragma once

#include <cstdint>

namespace weft::cpu {

constexpr const char *decode_texels_symbol = "weft_decode_texels";

/// Operands of a lane: the format's number (block_format()), four words of the block, and the
/// texel, column + row * block_side.
constexpr unsigned decode_operands = 6;
constexpr unsigned decoded_components = 4;

/// results[component][lane] = the texel of operands[operand][lane], as f32. Lane l takes part if
/// bit l of `active` is set; results of other lanes are arbitrary.
void decode_texels(uint64_t active, uint32_t lanes, const uint32_t *operands, float *results);

} // namespace weft::cpu
