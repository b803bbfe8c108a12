// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/runtime/decode_texels.h"

#include "nir_passes/images/texel_format.h"

#include "util/format/u_format.h"

#include <bit>

namespace weft::cpu {

void decode_texels(uint64_t active, uint32_t lanes, const uint32_t *operands, float *results)
{
   for (; active; active &= active - 1) {
      const auto lane = uint32_t(std::countr_zero(active));
      const auto operand = [&](uint32_t number) { return operands[number * lanes + lane]; };
      const enum pipe_format format = block_format(operand(0));
      float color[decoded_components] = {};
      if (format != PIPE_FORMAT_NONE) {
         const uint32_t block[] = {operand(1), operand(2), operand(3), operand(4)};
         const uint32_t texel = operand(5) % (block_side * block_side);
         util_format_fetch_rgba_func(format)(color, reinterpret_cast<const uint8_t *>(block),
                                             texel % block_side, texel / block_side);
      }
      for (uint32_t c = 0; c < decoded_components; c++)
         results[c * lanes + lane] = color[c];
   }
}

} // namespace weft::cpu
