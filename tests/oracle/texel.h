// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Texels by Vulkan's names of formats ("Format Definition", "Numeric Representation and
/// Computation"): an independent scalar implementation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::oracle {

enum class TexelKind {
   unorm,
   snorm,
   srgb,
   uscaled,
   sscaled,
   uint,
   sint,
   sfloat,
   ufloat,
   shared_exponent ///< a component E beside R, G and B
};

struct TexelLayout {
   struct Component {
      char name;            ///< R, G, B, A or X
      unsigned first, bits; ///< from the least bit of the first byte on
   };

   TexelKind kind;
   unsigned bytes;
   std::vector<Component> components;

   bool is_integer() const { return kind == TexelKind::uint || kind == TexelKind::sint; }
   const Component *find(char name) const;
};

/// Of a name without its prefix: "R8G8_UNORM", "A2B10G10R10_UINT_PACK32", "X8_D24_UNORM_PACK32".
/// A depth (D) is R.
TexelLayout texel_layout(const std::string &name);

/// The number of a component 'R' to 'A', missing ones included.
double texel_value(const TexelLayout &, std::span<const std::byte> texel, char component);

/// Whether a shader may read `result`, the bits of an f32 or an integer, as component 'R' to 'A' of
/// the texel. Normalized numbers are rounded once, a colour in sRGB is a
/// power with few wrong bits, all others are exact.
bool reads_as(const TexelLayout &, std::span<const std::byte> texel, char component,
              uint32_t result);

/// Whether a shader that stores `color`, the bits of an f32 or an integer, may leave this texel.
/// A product in f32 and the rounding to an integer may be wrong by half a unit each. Halves are
/// rounded to nearest, floats of 11 and 10 bits in either direction.
bool stored_as(const TexelLayout &, std::span<const std::byte> texel, char component,
               uint32_t color);

/// Whether the texel may hold a number from `low` to `high`, with the rounding of its format. An
/// encoding in sRGB may be wrong by 0.6 units. Floats may be rounded in either direction; numbers
/// beyond their largest one may become infinite.
bool holds_number(const TexelLayout &, std::span<const std::byte> texel, char component, double low,
                  double high);

} // namespace weft::oracle
