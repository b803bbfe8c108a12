// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/texel.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

namespace weft::oracle {

namespace {

constexpr double rounding = 1.0 / (1 << 24); ///< of an f32, relative

uint32_t field(std::span<const std::byte> texel, const TexelLayout::Component &c)
{
   uint32_t number = 0;
   for (unsigned i = 0; i < c.bits; ++i) {
      const unsigned bit = c.first + i;
      number |= (uint32_t(texel[bit / 8]) >> bit % 8 & 1) << i;
   }
   return number;
}

double signed_value(uint32_t number, unsigned bits)
{
   const double whole = std::ldexp(1.0, int(bits));
   return number >> (bits - 1) & 1 ? number - whole : number;
}

double largest(TexelKind kind, unsigned bits)
{
   const bool has_sign = kind == TexelKind::snorm || kind == TexelKind::sint;
   return std::ldexp(1.0, int(bits) - has_sign) - 1;
}

/// A floating-point number of 16, 11 or 10 bits, with five bits of exponent.
struct SmallFloat {
   int mantissa_bits;

   explicit SmallFloat(unsigned bits) : mantissa_bits(bits == 16 ? 10 : int(bits) - 5) {}

   double value(uint32_t number) const
   {
      const double mantissa = number & ((1u << mantissa_bits) - 1);
      const int exponent = int(number >> mantissa_bits & 31);
      const double sign = number >> (mantissa_bits + 5) & 1 ? -1 : 1;
      if (exponent == 31)
         return mantissa != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
      const double fraction = std::ldexp(mantissa, -mantissa_bits) + (exponent > 0);
      return sign * std::ldexp(fraction, std::max(exponent, 1) - 15);
   }
   double largest() const { return std::ldexp(2 - std::ldexp(1.0, -mantissa_bits), 15); }
   /// The distance of the numbers around x.
   double spacing(double x) const
   {
      const int exponent = x == 0 ? -14 : std::max(std::ilogb(x), -14);
      return std::ldexp(1.0, exponent - mantissa_bits);
   }
};

bool is_same(double expected, float result)
{
   if (std::isnan(expected))
      return std::isnan(result);
   return expected == double(result) && std::signbit(expected) == std::signbit(result);
}

bool stored_float(const SmallFloat &format, bool has_sign, uint32_t number, double x)
{
   const double stored = format.value(number);
   if (std::isnan(x))
      return !has_sign || std::isnan(stored);
   if (!has_sign && x <= 0)
      return stored == 0;
   const double unit = format.spacing(x), size = std::abs(x);
   if (has_sign && size >= format.largest() + format.spacing(format.largest()) / 2)
      return std::isinf(stored) && std::signbit(stored) == std::signbit(x);
   if (!has_sign && size > format.largest())
      return stored >= format.largest();
   return has_sign ? std::abs(stored - x) <= unit / 2 : std::abs(stored - x) < unit;
}

} // namespace

const TexelLayout::Component *TexelLayout::find(char name) const
{
   const auto found = std::ranges::find(components, name, &Component::name);
   return found == components.end() ? nullptr : &*found;
}

TexelLayout texel_layout(const std::string &format)
{
   // X8_D24 is one word of two components.
   std::string name = format;
   if (name.starts_with("X8_"))
      name.erase(2, 1);
   const size_t underscore = name.find('_');
   std::string kind = name.substr(underscore + 1);
   const bool packed = kind.find("_PACK") != std::string::npos;
   kind = kind.substr(0, kind.find('_'));
   static const std::map<std::string, TexelKind> kinds = {
      {"UNORM", TexelKind::unorm},     {"SNORM", TexelKind::snorm},
      {"USCALED", TexelKind::uscaled}, {"SSCALED", TexelKind::sscaled},
      {"UINT", TexelKind::uint},       {"SINT", TexelKind::sint},
      {"SFLOAT", TexelKind::sfloat},   {"UFLOAT", TexelKind::ufloat},
      {"SRGB", TexelKind::srgb},
   };
   TexelLayout layout = {kinds.at(kind), 0, {}};
   unsigned total = 0;
   for (size_t i = 0; i < underscore;) {
      const char component = name[i] == 'D' ? 'R' : name[i];
      ++i;
      unsigned bits = 0;
      while (i < underscore && std::isdigit(name[i]))
         bits = bits * 10 + unsigned(name[i++] - '0');
      layout.components.push_back({component, total, bits});
      total += bits;
   }
   // The first component of a packed format has the most significant bits.
   if (packed) {
      for (TexelLayout::Component &c : layout.components)
         c.first = total - c.first - c.bits;
   }
   layout.bytes = total / 8;
   if (layout.find('E'))
      layout.kind = TexelKind::shared_exponent;
   return layout;
}

double texel_value(const TexelLayout &layout, std::span<const std::byte> texel, char component)
{
   const TexelLayout::Component *c = layout.find(component);
   if (!c)
      return component == 'A';
   const uint32_t stored = field(texel, *c);
   const double most = largest(layout.kind, c->bits);
   switch (layout.kind) {
   case TexelKind::uint:
   case TexelKind::uscaled:
      return stored;
   case TexelKind::sint:
   case TexelKind::sscaled:
      return signed_value(stored, c->bits);
   case TexelKind::unorm:
      return stored / most;
   case TexelKind::snorm:
      return std::max(signed_value(stored, c->bits) / most, -1.0);
   case TexelKind::srgb: {
      const double x = stored / most;
      if (component == 'A')
         return x;
      return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
   }
   case TexelKind::sfloat:
   case TexelKind::ufloat:
      return c->bits == 32 ? double(std::bit_cast<float>(stored))
                           : SmallFloat(c->bits).value(stored);
   case TexelKind::shared_exponent:
      return std::ldexp(stored, int(field(texel, *layout.find('E'))) - 15 - int(c->bits));
   }
   throw std::logic_error("a kind of texels is missing");
}

bool reads_as(const TexelLayout &layout, std::span<const std::byte> texel, char component,
              uint32_t result)
{
   const TexelLayout::Component *c = layout.find(component);
   const double expected = texel_value(layout, texel, component);
   if (layout.kind == TexelKind::uint)
      return result == expected;
   if (layout.kind == TexelKind::sint)
      return int32_t(result) == expected;
   if (c && c->bits == 32)
      return result == field(texel, *c);
   const auto number = std::bit_cast<float>(result);
   const bool is_power = layout.kind == TexelKind::srgb && component != 'A';
   const bool is_rounded =
      layout.kind == TexelKind::unorm || layout.kind == TexelKind::snorm || is_power || !c;
   /* The base of a power has two rounded operations, and the power multiplies its error by 2.4. */
   const double error = is_power ? 16 * rounding : rounding;
   return is_rounded || layout.kind == TexelKind::srgb
             ? std::abs(number - expected) <= std::abs(expected) * error
             : is_same(expected, number);
}

bool stored_as(const TexelLayout &layout, std::span<const std::byte> texel, char component,
               uint32_t color)
{
   const TexelLayout::Component *c = layout.find(component);
   if (!c)
      return true;
   const uint32_t stored = field(texel, *c);
   const double x = std::bit_cast<float>(color), most = largest(layout.kind, c->bits);
   const auto is_near = [&](double number, double exact) {
      return std::abs(number - exact) <= 0.5 + std::abs(exact) * rounding;
   };
   switch (layout.kind) {
   case TexelKind::uint:
      return stored == std::min(double(color), most);
   case TexelKind::sint:
      return signed_value(stored, c->bits) == std::clamp(double(int32_t(color)), -most - 1, most);
   case TexelKind::unorm:
      return std::isnan(x) || is_near(stored, std::clamp(x, 0.0, 1.0) * most);
   case TexelKind::snorm:
      return std::isnan(x) ||
             is_near(signed_value(stored, c->bits), std::clamp(x, -1.0, 1.0) * most);
   case TexelKind::sfloat:
   case TexelKind::ufloat:
      return c->bits == 32
                ? stored == color
                : stored_float(SmallFloat(c->bits), layout.kind == TexelKind::sfloat, stored, x);
   default:
      throw std::logic_error("texels of this kind are not stored");
   }
}

bool holds_number(const TexelLayout &layout, std::span<const std::byte> texel, char component,
                  double low, double high)
{
   const TexelLayout::Component *c = layout.find(component);
   if (!c)
      return true;
   const uint32_t stored = field(texel, *c);
   const double most = largest(layout.kind, c->bits);
   const auto fits = [&](double number, double least, double scale, double units) {
      const double error = units + scale * rounding;
      return number >= std::clamp(low, least, 1.0) * scale - error &&
             number <= std::clamp(high, least, 1.0) * scale + error;
   };
   switch (layout.kind) {
   case TexelKind::uint:
   case TexelKind::sint: {
      const double number = texel_value(layout, texel, component),
                   least = layout.kind == TexelKind::sint ? -most - 1 : 0;
      return number >= std::clamp(low, least, most) && number <= std::clamp(high, least, most);
   }
   case TexelKind::unorm:
      return fits(stored, 0, most, 0.5);
   case TexelKind::snorm: // two encodings of -1
      return fits(std::max(signed_value(stored, c->bits), -most), -1, most, 0.5);
   case TexelKind::srgb: {
      if (component == 'A')
         return fits(stored, 0, most, 0.5);
      const auto encode = [](double x) {
         x = std::clamp(x, 0.0, 1.0);
         return x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
      };
      return stored >= encode(low) * most - 0.6 && stored <= encode(high) * most + 0.6;
   }
   case TexelKind::sfloat:
   case TexelKind::ufloat: {
      const double number = texel_value(layout, texel, component);
      if (c->bits == 32)
         return number >= low - std::abs(low) * rounding &&
                number <= high + std::abs(high) * rounding;
      const SmallFloat format(c->bits);
      const double least = layout.kind == TexelKind::sfloat ? -format.largest() : 0,
                   bottom = std::clamp(low, least, format.largest()), top = std::max(high, least);
      return number >= bottom - format.spacing(bottom) && number <= top + format.spacing(top);
   }
   default:
      throw std::logic_error("texels of this kind are not stored");
   }
}

} // namespace weft::oracle
