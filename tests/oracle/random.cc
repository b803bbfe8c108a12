// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/random.h"

#include <cmath>

namespace weft::oracle {

uint32_t draw(Random &random, uint32_t bound)
{
   return uint32_t(random() % bound);
}

static double draw_edge_float(Random &random, ComponentType type)
{
   const double sign = draw(random, 2) ? -1 : 1;
   switch (draw(random, 7)) {
   case 0:
      return 0;
   case 1:
      return -0.0;
   case 2:
      return sign;
   case 3:
      return sign * std::ldexp(1.0, -int(draw(random, 8)));
   case 4:
      return sign * smallest_normal(type);
   case 5:
      return sign * smallest_positive(type);
   default:
      return sign * std::ldexp(1.0, int(draw(random, 5)));
   }
}

/// A float with a uniformly random exponent, up to the exponent of the square root of the largest
/// number.
static double draw_extreme_float(Random &random, ComponentType type)
{
   switch (draw(random, 64)) {
   case 0:
      return draw(random, 2) ? HUGE_VAL : -HUGE_VAL;
   case 1:
      return std::nan("");
   case 2:
      return draw(random, 2) ? largest_finite(type) : -largest_finite(type);
   }
   const int least = std::ilogb(smallest_positive(type));
   const int most = std::ilogb(largest_finite(type)) / 2;
   const double digits = std::uniform_real_distribution<double>(-2, 2)(random);
   return std::ldexp(digits, least + int(draw(random, uint32_t(most - least))));
}

static double draw_float(Random &random, ComponentType type, Inputs inputs)
{
   if (inputs == Inputs::whole || inputs == Inputs::near_bounds)
      return double(draw(random, 17)) - 8;
   if ((inputs == Inputs::edges || inputs == Inputs::extremes) && draw(random, 8) == 0)
      return draw_edge_float(random, type);
   if (inputs == Inputs::extremes)
      return draw_extreme_float(random, type);
   return std::uniform_real_distribution<double>(-1, 1)(random);
}

static Integer draw_int(Random &random, ComponentType type, Inputs inputs)
{
   const bool is_signed = format(type).is_signed;
   if (inputs == Inputs::whole)
      return is_signed ? Integer(draw(random, 17)) - 8 : Integer(draw(random, 9));
   if (inputs == Inputs::near_bounds && draw(random, 4) != 0) {
      const Integer distance = draw(random, 1 << 18) % (int_max(type) / 2);
      return draw(random, 2) ? int_max(type) - distance : int_min(type) + distance;
   }
   if ((inputs == Inputs::edges || inputs == Inputs::extremes) && draw(random, 8) == 0) {
      const Integer step = draw(random, 2);
      switch (draw(random, 3)) {
      case 0:
         return int_min(type) + step;
      case 1:
         return int_max(type) - step;
      default:
         return is_signed ? -step : step;
      }
   }
   return Integer(random());
}

void fill_random(Random &random, ComponentType type, Inputs inputs, std::span<std::byte> out)
{
   const uint32_t bytes = format(type).bytes;
   for (size_t at = 0; at + bytes <= out.size(); at += bytes) {
      if (format(type).is_float && inputs != Inputs::bits)
         encode_float(type, draw_float(random, type, inputs), &out[at]);
      else
         encode_int(type, draw_int(random, type, inputs), &out[at]);
   }
}

void fill_poison(std::span<std::byte> out)
{
   // 0x7ff. in the upper half of any 16, 32 or 64 bits is a NaN; the low bits distinguish
   // positions.
   for (size_t i = 0; i < out.size(); i++)
      out[i] = std::byte(i % 2 ? 0x7f : 0xf1 + (i / 2) % 13);
}

} // namespace weft::oracle
