// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Blits (Vulkan, "Image Copies With Scaling"): an independent scalar implementation in f64.

#pragma once

#include "tests/oracle/sampling.h"

#include <array>
#include <functional>

namespace weft::oracle {

/// A region in one direction, and the texels of the source's level; an end may be before its
/// beginning.
struct BlitAxis {
   int from_begin, from_end, to_begin, to_end, size;

   bool has(int number) const;
};
using BlitAxes = std::array<BlitAxis, 3>;

/// The color of a texel of the destination.
Color blit_color(const BlitAxes &, const std::array<int, 3> &at, bool is_linear,
                 const std::function<Color(int x, int y, int z)> &texel);

/// The error of a color that is filtered in f32, if no number of the source exceeds `largest`.
double blit_error(double largest);

} // namespace weft::oracle
