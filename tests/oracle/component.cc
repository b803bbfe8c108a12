// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/component.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace weft::oracle {

static constexpr Format formats[] = {
   {ComponentType::f16, "f16", "float16_t", 2, true, true, 5, 10},
   {ComponentType::f32, "f32", "float32_t", 4, true, true, 8, 23},
   {ComponentType::f64, "f64", "float64_t", 8, true, true, 11, 52},
   {ComponentType::bf16, "bf16", "bfloat16_t", 2, true, true, 8, 7},
   {ComponentType::e4m3, "e4m3", "floate4m3_t", 1, true, true, 4, 3, false},
   {ComponentType::e5m2, "e5m2", "floate5m2_t", 1, true, true, 5, 2},
   {ComponentType::s8, "s8", "int8_t", 1, false, true, 0, 0},
   {ComponentType::s16, "s16", "int16_t", 2, false, true, 0, 0},
   {ComponentType::s32, "s32", "int32_t", 4, false, true, 0, 0},
   {ComponentType::s64, "s64", "int64_t", 8, false, true, 0, 0},
   {ComponentType::u8, "u8", "uint8_t", 1, false, false, 0, 0},
   {ComponentType::u16, "u16", "uint16_t", 2, false, false, 0, 0},
   {ComponentType::u32, "u32", "uint32_t", 4, false, false, 0, 0},
   {ComponentType::u64, "u64", "uint64_t", 8, false, false, 0, 0},
};

const Format &format(ComponentType type)
{
   for (const Format &f : formats) {
      if (f.type == type)
         return f;
   }
   assert(!"no such component type");
   return formats[0];
}

bool has_format(ComponentType type)
{
   return std::ranges::any_of(formats, [&](const Format &f) { return f.type == type; });
}

static int bias(const Format &f)
{
   return (1 << (f.exponent_bits - 1)) - 1;
}

/// The least bits, without the sign, that are no number.
static uint64_t first_special(const Format &f)
{
   const uint64_t all = (uint64_t(1) << (f.exponent_bits + f.fraction_bits)) - 1;
   return f.has_infinity ? all << f.fraction_bits & all : all;
}

static uint64_t load_bits(const Format &f, const void *in)
{
   uint64_t bits = 0;
   memcpy(&bits, in, f.bytes);
   return bits;
}

double decode_float(ComponentType type, const void *in)
{
   const Format &f = format(type);
   const uint64_t bits = load_bits(f, in);
   const uint64_t fraction = bits & ((uint64_t(1) << f.fraction_bits) - 1);
   const uint64_t exponent = (bits >> f.fraction_bits) & ((uint64_t(1) << f.exponent_bits) - 1);
   const bool negative = bits >> (f.exponent_bits + f.fraction_bits) & 1;

   double magnitude;
   const uint64_t without_sign = exponent << f.fraction_bits | fraction;
   if (without_sign >= first_special(f))
      magnitude = without_sign > first_special(f) || !f.has_infinity
                     ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
   else if (exponent == 0)
      magnitude = std::ldexp(double(fraction), 1 - bias(f) - int(f.fraction_bits));
   else
      magnitude = std::ldexp(double(fraction | uint64_t(1) << f.fraction_bits),
                             int(exponent) - bias(f) - int(f.fraction_bits));
   return negative ? -magnitude : magnitude;
}

Integer decode_int(ComponentType type, const void *in)
{
   const Format &f = format(type);
   const uint64_t bits = load_bits(f, in);
   const uint32_t unused = 64 - 8 * f.bytes;
   if (f.is_signed)
      return Integer(int64_t(bits << unused) >> unused);
   return Integer(bits);
}

void encode_float(ComponentType type, double value, void *out, Rounding rounding)
{
   const Format &f = format(type);
   const uint64_t special = first_special(f);
   uint64_t bits;
   if (std::isnan(value)) {
      bits = special | uint64_t(1) << (f.fraction_bits - 1);
   } else if (std::isinf(value)) {
      bits = special;
   } else if (value == 0) {
      bits = 0;
   } else {
      // In units of the last place, `count` is below 2^(fraction_bits+1). Rounding may make it
      // equal, and subnormals lack the hidden bit; the sum of exponent and count is right in both
      // cases.
      const int min_exponent = 1 - bias(f);
      const int exponent = std::max(std::ilogb(value), min_exponent);
      const double units = std::ldexp(std::fabs(value), int(f.fraction_bits) - exponent);
      const double count =
         rounding == Rounding::nearest_even ? std::nearbyint(units) : std::trunc(units);
      bits = (uint64_t(exponent - min_exponent) << f.fraction_bits) + uint64_t(count);
      if (bits >= special)
         bits = rounding == Rounding::nearest_even ? special : special - 1;
   }
   bits |= uint64_t(std::signbit(value)) << (f.exponent_bits + f.fraction_bits);
   memcpy(out, &bits, f.bytes);
}

void encode_int(ComponentType type, Integer value, void *out)
{
   const uint64_t bits = uint64_t(value);
   memcpy(out, &bits, format(type).bytes);
}

void encode_number(ComponentType type, double value, void *out)
{
   if (format(type).is_float)
      encode_float(type, value, out);
   else
      encode_int(type, Integer(value), out);
}

Integer int_min(ComponentType type)
{
   const Format &f = format(type);
   return f.is_signed ? -(Integer(1) << (8 * f.bytes - 1)) : Integer(0);
}

Integer int_max(ComponentType type)
{
   const Format &f = format(type);
   return (Integer(1) << (8 * f.bytes - (f.is_signed ? 1 : 0))) - 1;
}

Integer saturate(ComponentType type, Integer value)
{
   return std::clamp(value, int_min(type), int_max(type));
}

double largest_finite(ComponentType type)
{
   const uint64_t bits = first_special(format(type)) - 1;
   return decode_float(type, &bits);
}

double smallest_normal(ComponentType type)
{
   return std::ldexp(1.0, 1 - bias(format(type)));
}

double smallest_positive(ComponentType type)
{
   const Format &f = format(type);
   return std::ldexp(1.0, 1 - bias(f) - int(f.fraction_bits));
}

double unit_roundoff(ComponentType type)
{
   return std::ldexp(1.0, -int(format(type).fraction_bits) - 1);
}

} // namespace weft::oracle
