// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "util/format/u_formats.h"

#include <array>
#include <cstdint>
#include <optional>

namespace weft {

/// The meaning of the numbers in a texel (Vulkan, "Identification of Formats").
enum class TexelNumbers : uint8_t {
   integer,
   normalized,
   srgb, ///< normalized; R, G and B in the transfer function of sRGB
   scaled,
   floating,        ///< of 32 and 16 bits; with fewer bits, without a sign (B10G11R11)
   shared_exponent, ///< E5B9G9R9; the exponent is the last field
   block,           ///< of blocks of 4 x 4 texels, decoded to floating-point numbers
};

constexpr unsigned block_side = 4; ///< texels of a compressed block in each direction

/// A format of texels that lie in memory one by one, as plain data that a descriptor holds and
/// generated code reads as three words:
///
///    byte 0       1         2        3             4 … 11
///    texel_bytes  numbers   signed   alpha is one  (first bit, bits) of R, G, B, A
///
/// Bits count from the texel's first byte's least one. A component that the format lacks has no
/// bits. All zeros (a null descriptor) is a format without components. In a compressed format, a
/// block takes the place of a texel, and its components have 8 bits each. The first byte of the
/// fields is then the format's number among all compressed ones.
struct TexelFormat {
   struct Field {
      uint8_t first = 0, bits = 0; ///< within one word of 32 bits; wide: of 64
      bool operator==(const Field &) const = default;
   };

   uint8_t texel_bytes = 0; ///< 1, 2, 4, 8, 12, 16 or 32; 8 or 16 of a block
   TexelNumbers numbers = TexelNumbers::integer;
   uint8_t is_signed = 0;    ///< integers, and the integers of normalized and scaled numbers
   uint8_t alpha_is_one = 0; ///< the format lacks alpha
   std::array<Field, 4> fields = {};

   bool operator==(const TexelFormat &) const = default;
};
using TexelFormatWords = std::array<uint32_t, 3>;
static_assert(sizeof(TexelFormat) == sizeof(TexelFormatWords));

/// A depth without a stencil is the component R. Compressed formats are BC1 to BC7. Nothing for
/// formats of other kinds: planar, stencil, floating-point components of 64 bits, and texels of 3,
/// 6 or 24 bytes.
std::optional<TexelFormat> texel_format(enum pipe_format);

/// The compressed format of a number; none for a number without a format.
enum pipe_format block_format(uint32_t number);
/// The sides of the format's texels or blocks, in texels.
unsigned texel_side(const TexelFormat &);

/// One, two or four integers of 64 bits: only accesses of 64 bits read and write them.
bool is_wide(const TexelFormat &);

/// Whether a shader may store texels: each component is one field, of a number that pack_texel()
/// makes.
bool may_store(const TexelFormat &);

} // namespace weft
