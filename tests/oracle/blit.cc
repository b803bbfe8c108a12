// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/blit.h"

#include <algorithm>
#include <cmath>

namespace weft::oracle {

namespace {

/// The least distance of a position from a whole number is far greater, unless it is one.
constexpr double negligible = 1e-9;

/// The position in the source, in texels.
double position(const BlitAxis &a, int number)
{
   const double scale = double(a.from_end - a.from_begin) / (a.to_end - a.to_begin);
   return (number + 0.5 - a.to_begin) * scale + a.from_begin;
}

/// Adds the texels around the position in the directions from `direction` on.
void add_texels(const BlitAxes &axes, const std::array<int, 3> &at, bool is_linear,
                const std::function<Color(int, int, int)> &texel, size_t direction, double weight,
                std::array<int, 3> *where, Color *sum)
{
   if (weight == 0)
      return;
   if (direction == axes.size()) {
      const Color color = texel((*where)[0], (*where)[1], (*where)[2]);
      for (size_t c = 0; c < color.size(); ++c)
         (*sum)[c] += weight * color[c];
      return;
   }
   const BlitAxis &axis = axes[direction];
   const double p = position(axis, at[direction]) - (is_linear ? 0.5 : 0);
   const double first = std::floor(p + negligible), share = std::max(p - first, 0.0);
   for (int i = 0; i < 2; ++i) {
      (*where)[direction] = std::clamp(int(first) + i, 0, axis.size - 1);
      const double part = is_linear ? (i ? share : 1 - share) : (i ? 0 : 1);
      add_texels(axes, at, is_linear, texel, direction + 1, weight * part, where, sum);
   }
}

} // namespace

bool BlitAxis::has(int number) const
{
   return number >= std::min(to_begin, to_end) && number < std::max(to_begin, to_end);
}

Color blit_color(const BlitAxes &axes, const std::array<int, 3> &at, bool is_linear,
                 const std::function<Color(int, int, int)> &texel)
{
   Color sum = {};
   std::array<int, 3> where = {};
   add_texels(axes, at, is_linear, texel, 0, 1, &where, &sum);
   return sum;
}

double blit_error(double largest)
{
   // Eight texels: each is rounded, has a weight of three factors with two roundings each, and is
   // multiplied and added. The weights' sum is 1.
   return (1 + 6 + 1 + 8) * largest / (1 << 23);
}

} // namespace weft::oracle
