// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texels of compressed blocks (Khronos Data Format Specification, "S3TC Compressed Texture Image
/// Formats", "RGTC Compressed Texture Image Formats", "BPTC Compressed Texture Image Formats"): an
/// independent scalar implementation in f64.

#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace weft::oracle {

constexpr unsigned block_side = 4; ///< texels in each direction

/// Of Vulkan's name without its prefix: "BC1_RGB_UNORM_BLOCK".
struct BlockLayout {
   unsigned number;        ///< 1 to 7, the digit after BC
   unsigned bytes;         ///< of a block
   std::string components; ///< R, G, B, A; alpha is 1 if it is missing
   bool is_signed, is_srgb;

   /// The largest error that an implementation may make: it may interpolate in integers of 8 bits,
   /// and truncate.
   double error() const;
};
BlockLayout block_layout(const std::string &name);

/// The components R, G, B, A of a texel; column and row are less than block_side.
std::array<double, 4> block_texel(const BlockLayout &, std::span<const std::byte> block,
                                  unsigned column, unsigned row);

} // namespace weft::oracle
