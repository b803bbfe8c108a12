// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/block.h"

#include "tests/oracle/partitions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace weft::oracle {

namespace {

using Color = std::array<double, 4>;

/// The bits of a block from the least one of its first byte on.
class Bits {
public:
   explicit Bits(std::span<const std::byte> bytes, unsigned first = 0) : bytes(bytes), next(first)
   {
   }

   unsigned read(unsigned count)
   {
      unsigned number = 0;
      for (unsigned i = 0; i < count; ++i, ++next)
         number |= (unsigned(bytes[next / 8]) >> next % 8 & 1) << i;
      return number;
   }
   void skip(unsigned count) { next += count; }

private:
   std::span<const std::byte> bytes;
   unsigned next;
};

unsigned bits_at(std::span<const std::byte> block, unsigned first, unsigned count)
{
   return Bits(block, first).read(count);
}

double mix(double a, double b, double part)
{
   return a + (b - a) * part;
}

/// R5G6B5 colors and two bits per texel, in eight bytes.
Color bc1_color(std::span<const std::byte> block, unsigned texel, bool may_be_three,
                bool has_transparent_black)
{
   const auto color = [&](unsigned first) {
      return Color{bits_at(block, first + 11, 5) / 31.0, bits_at(block, first + 5, 6) / 63.0,
                   bits_at(block, first, 5) / 31.0, 1};
   };
   const Color first = color(0), second = color(16);
   const bool is_three = may_be_three && bits_at(block, 0, 16) <= bits_at(block, 16, 16);
   const unsigned code = bits_at(block, 32 + 2 * texel, 2);
   if (is_three && code == 3)
      return {0, 0, 0, has_transparent_black ? 0.0 : 1.0};
   const double parts[] = {0, 1, is_three ? 1.0 / 2 : 1.0 / 3, 2.0 / 3};
   Color result;
   for (unsigned c = 0; c < 4; ++c)
      result[c] = mix(first[c], second[c], parts[code]);
   return result;
}

/// Two ends of eight bits, and three bits per texel, in eight bytes.
double bc4_number(std::span<const std::byte> block, unsigned texel, bool is_signed)
{
   const auto end = [&](unsigned first) {
      const unsigned byte = bits_at(block, first, 8);
      return is_signed ? std::max(double(int8_t(byte)) / 127, -1.0) : byte / 255.0;
   };
   const auto order = [&](unsigned first) {
      const unsigned byte = bits_at(block, first, 8);
      return is_signed ? int(int8_t(byte)) : int(byte);
   };
   const double first = end(0), second = end(8);
   const unsigned code = bits_at(block, 16 + 3 * texel, 3);
   if (code < 2)
      return code == 0 ? first : second;
   if (order(0) > order(8))
      return mix(first, second, (code - 1) / 7.0);
   if (code < 6)
      return mix(first, second, (code - 1) / 5.0);
   return code == 7 ? 1 : is_signed ? -1 : 0;
}

unsigned weight(unsigned index, unsigned bits)
{
   constexpr unsigned two[] = {0, 21, 43, 64}, three[] = {0, 9, 18, 27, 37, 46, 55, 64},
                      four[] = {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64};
   return bits == 2 ? two[index] : bits == 3 ? three[index] : four[index];
}

int interpolate(int a, int b, unsigned part)
{
   return (a * int(64 - part) + b * int(part) + 32) >> 6;
}

/// The index of a texel among all of a block. An anchor's index lacks its most significant bit,
/// which is 0.
unsigned read_index(Bits bits, unsigned texel, unsigned count, unsigned subsets, unsigned partition)
{
   for (unsigned i = 0; i < texel; ++i)
      bits.skip(count - is_anchor(subsets, partition, i));
   return bits.read(count - is_anchor(subsets, partition, texel));
}

struct Bc7Mode {
   unsigned subsets, partition_bits, rotation_bits, selection_bits, color_bits, alpha_bits,
      end_bits, shared_bits, index_bits, second_index_bits;
};
constexpr Bc7Mode bc7_modes[] = {
   {3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 0, 2, 0},
   {2, 6, 0, 0, 7, 0, 1, 0, 2, 0}, {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
   {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0},
};

Color bc7_color(std::span<const std::byte> block, unsigned texel)
{
   Bits bits(block);
   unsigned number = 0;
   while (number < 8 && bits.read(1) == 0)
      ++number;
   if (number == 8)
      return {};
   const Bc7Mode &mode = bc7_modes[number];
   const unsigned partition = bits.read(mode.partition_bits),
                  rotation = bits.read(mode.rotation_bits),
                  selection = bits.read(mode.selection_bits), ends = 2 * mode.subsets;
   unsigned end[6][4];
   for (unsigned c = 0; c < 4; ++c) {
      for (unsigned e = 0; e < ends; ++e)
         end[e][c] = bits.read(c < 3 ? mode.color_bits : mode.alpha_bits);
   }
   unsigned last_bit[6] = {};
   for (unsigned e = 0; e < ends; ++e) {
      if (mode.end_bits || (mode.shared_bits && e % 2 == 0))
         last_bit[e] = bits.read(1);
      else if (mode.shared_bits)
         last_bit[e] = last_bit[e - 1];
   }
   const auto expanded = [&](unsigned e, unsigned c) -> int {
      unsigned width = c < 3 ? mode.color_bits : mode.alpha_bits;
      if (width == 0)
         return 255;
      unsigned value = end[e][c];
      if (mode.end_bits || mode.shared_bits) {
         value = value * 2 + last_bit[e];
         ++width;
      }
      // The most significant bits are repeated below.
      value <<= 8 - width;
      return int(value | value >> width);
   };
   const unsigned subset = subset_of(mode.subsets, partition, texel);
   const unsigned index = read_index(bits, texel, mode.index_bits, mode.subsets, partition);
   unsigned color_weight = weight(index, mode.index_bits), alpha_weight = color_weight;
   if (mode.second_index_bits) {
      bits.skip(16 * mode.index_bits - mode.subsets);
      const unsigned second =
         read_index(bits, texel, mode.second_index_bits, mode.subsets, partition);
      (selection ? color_weight : alpha_weight) = weight(second, mode.second_index_bits);
   }
   Color result;
   for (unsigned c = 0; c < 4; ++c)
      result[c] = interpolate(expanded(2 * subset, c), expanded(2 * subset + 1, c),
                              c < 3 ? color_weight : alpha_weight) /
                  255.0;
   if (rotation > 0)
      std::swap(result[3], result[rotation - 1]);
   return result;
}

struct Bc6Mode {
   unsigned mode; ///< its first 2 or 5 bits
   unsigned subsets;
   bool is_transformed;
   unsigned base_bits;
   std::array<unsigned, 3> delta_bits; ///< of R, G, B
   /// The fields behind the mode, in order: a component, an end (w, x, y, z), its most and its
   /// least bit. If the first bit is less than the second, the bits are in reverse order.
   const char *fields;
};
constexpr Bc6Mode bc6_modes[] = {
   {0,
    2,
    true,
    10,
    {5, 5, 5},
    "gy4 by4 bz4 rw9:0 gw9:0 bw9:0 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 "
    "rz4:0 bz3"},
   {1,
    2,
    true,
    7,
    {6, 6, 6},
    "gy5 gz4 gz5 rw6:0 bz0 bz1 by4 gw6:0 by5 bz2 gy4 bw6:0 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 gz3:0 "
    "bx5:0 by3:0 ry5:0 rz5:0"},
   {2,
    2,
    true,
    11,
    {5, 4, 4},
    "rw9:0 gw9:0 bw9:0 rx4:0 rw10 gy3:0 gx3:0 gw10 bz0 gz3:0 bx3:0 bw10 bz1 by3:0 ry4:0 bz2 rz4:0 "
    "bz3"},
   {6,
    2,
    true,
    11,
    {4, 5, 4},
    "rw9:0 gw9:0 bw9:0 rx3:0 rw10 gz4 gy3:0 gx4:0 gw10 gz3:0 bx3:0 bw10 bz1 by3:0 ry3:0 bz0 bz2 "
    "rz3:0 gy4 bz3"},
   {10,
    2,
    true,
    11,
    {4, 4, 5},
    "rw9:0 gw9:0 bw9:0 rx3:0 rw10 by4 gy3:0 gx3:0 gw10 bz0 gz3:0 bx4:0 bw10 by3:0 ry3:0 bz1 bz2 "
    "rz3:0 bz4 bz3"},
   {14,
    2,
    true,
    9,
    {5, 5, 5},
    "rw8:0 by4 gw8:0 gy4 bw8:0 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry4:0 bz2 rz4:0 "
    "bz3"},
   {18,
    2,
    true,
    8,
    {6, 5, 5},
    "rw7:0 gz4 by4 gw7:0 bz2 gy4 bw7:0 bz3 bz4 rx5:0 gy3:0 gx4:0 bz0 gz3:0 bx4:0 bz1 by3:0 ry5:0 "
    "rz5:0"},
   {22,
    2,
    true,
    8,
    {5, 6, 5},
    "rw7:0 bz0 by4 gw7:0 gy5 gy4 bw7:0 gz5 bz4 rx4:0 gz4 gy3:0 gx5:0 gz3:0 bx4:0 bz1 by3:0 ry4:0 "
    "bz2 rz4:0 bz3"},
   {26,
    2,
    true,
    8,
    {5, 5, 6},
    "rw7:0 bz1 by4 gw7:0 by5 gy4 bw7:0 bz5 bz4 rx4:0 gz4 gy3:0 gx4:0 bz0 gz3:0 bx5:0 by3:0 ry4:0 "
    "bz2 rz4:0 bz3"},
   {30,
    2,
    false,
    6,
    {6, 6, 6},
    "rw5:0 gz4 bz0 bz1 by4 gw5:0 gy5 by5 bz2 gy4 bw5:0 gz5 bz3 bz5 bz4 rx5:0 gy3:0 gx5:0 gz3:0 "
    "bx5:0 by3:0 ry5:0 rz5:0"},
   {3, 1, false, 10, {10, 10, 10}, "rw9:0 gw9:0 bw9:0 rx9:0 gx9:0 bx9:0"},
   {7, 1, true, 11, {9, 9, 9}, "rw9:0 gw9:0 bw9:0 rx8:0 rw10 gx8:0 gw10 bx8:0 bw10"},
   {11, 1, true, 12, {8, 8, 8}, "rw9:0 gw9:0 bw9:0 rx7:0 rw10:11 gx7:0 gw10:11 bx7:0 bw10:11"},
   {15, 1, true, 16, {4, 4, 4}, "rw9:0 gw9:0 bw9:0 rx3:0 rw10:15 gx3:0 gw10:15 bx3:0 bw10:15"},
};

int extend_sign(unsigned number, unsigned bits)
{
   return number >> (bits - 1) & 1 ? int(number) - (1 << bits) : int(number);
}

/// The ends [R, G, B][w, x, y, z] of a block, and the place behind them.
struct Bc6Ends {
   unsigned end[3][4] = {};

   void read(const char *fields, Bits &bits)
   {
      for (const char *f = fields; *f;) {
         const unsigned component = *f == 'r' ? 0 : *f == 'g' ? 1 : 2, letter = f[1] - 'w';
         char *after = nullptr;
         const auto high = unsigned(std::strtoul(f + 2, &after, 10));
         const unsigned low = *after == ':' ? unsigned(std::strtoul(after + 1, &after, 10)) : high;
         unsigned &number = end[component][letter];
         if (high >= low) {
            for (unsigned i = low; i <= high; ++i)
               number |= bits.read(1) << i;
         } else {
            for (unsigned i = low; i >= high; --i)
               number |= bits.read(1) << i;
         }
         f = *after == ' ' ? after + 1 : after;
      }
   }
};

/// A number of `bits` bits as one of 16, or with a sign 15 and a sign.
int unquantize(int number, unsigned bits, bool is_signed)
{
   if (!is_signed) {
      if (bits >= 15 || number == 0)
         return number;
      return number == (1 << bits) - 1 ? 0xffff : ((number << 16) + 0x8000) >> bits;
   }
   const int size = std::abs(number);
   if (bits >= 16 || size == 0)
      return number;
   const int result =
      size >= (1 << (bits - 1)) - 1 ? 0x7fff : ((size << 15) + 0x4000) >> (bits - 1);
   return number < 0 ? -result : result;
}

double half_value(int number)
{
   const int size = std::abs(number), exponent = size >> 10, mantissa = size & 0x3ff;
   const double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
   return number < 0 ? -value : value;
}

Color bc6_color(std::span<const std::byte> block, unsigned texel, bool is_signed)
{
   Bits bits(block);
   unsigned number = bits.read(2);
   if (number >= 2)
      number |= bits.read(3) << 2;
   const auto mode = std::ranges::find(bc6_modes, number, &Bc6Mode::mode);
   if (mode == std::end(bc6_modes))
      return {0, 0, 0, 1};
   Bc6Ends ends;
   ends.read(mode->fields, bits);
   const unsigned partition = mode->subsets == 2 ? bits.read(5) : 0;
   const unsigned index_bits = mode->subsets == 2 ? 3 : 4;
   const unsigned subset = subset_of(mode->subsets, partition, texel);
   const unsigned part =
      weight(read_index(bits, texel, index_bits, mode->subsets, partition), index_bits);
   Color color = {0, 0, 0, 1};
   for (unsigned c = 0; c < 3; ++c) {
      const unsigned mask = (1u << mode->base_bits) - 1;
      const auto end = [&](unsigned e) {
         unsigned value = ends.end[c][e];
         if (e > 0 && mode->is_transformed)
            value = ends.end[c][0] + unsigned(extend_sign(value, mode->delta_bits[c]));
         value &= mask;
         return unquantize(is_signed ? extend_sign(value, mode->base_bits) : int(value),
                           mode->base_bits, is_signed);
      };
      const int between = interpolate(end(2 * subset), end(2 * subset + 1), part);
      const int size = std::abs(between) * 31 >> (is_signed ? 5 : 6);
      color[c] = half_value(between < 0 ? -size : size);
   }
   return color;
}

double linear(double x)
{
   return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
}

} // namespace

double BlockLayout::error() const
{
   if (number >= 6)
      return 0;
   // Of colors, also the expansion of five and six bits to eight. The least signed number may be
   // interpolated as -128.
   const double encoded = is_signed ? 2.0 / 127 : number <= 3 ? 1.5 / 255 : 1.0 / 255;
   constexpr double steepest = 2.28; // the derivative of the transfer function at 1
   return is_srgb ? encoded * steepest : encoded;
}

BlockLayout block_layout(const std::string &name)
{
   const auto number = unsigned(name.at(2) - '0');
   return {
      .number = number,
      .bytes = number == 1 || number == 4 ? 8u : 16u,
      .components = name.starts_with("BC1_RGB_") || number == 6 ? "RGB"
                    : number == 4                               ? "R"
                    : number == 5                               ? "RG"
                                                                : "RGBA",
      .is_signed =
         name.find("_SNORM") != std::string::npos || name.find("_SFLOAT") != std::string::npos,
      .is_srgb = name.find("_SRGB") != std::string::npos,
   };
}

std::array<double, 4> block_texel(const BlockLayout &layout, std::span<const std::byte> block,
                                  unsigned column, unsigned row)
{
   const unsigned texel = row * block_side + column;
   const auto second_half = block.subspan(layout.bytes / 2);
   Color color = {};
   switch (layout.number) {
   case 1:
      color = bc1_color(block, texel, true, layout.components == "RGBA");
      break;
   case 2:
      color = bc1_color(second_half, texel, false, false);
      color[3] = bits_at(block, 4 * texel, 4) / 15.0;
      break;
   case 3:
      color = bc1_color(second_half, texel, false, false);
      color[3] = bc4_number(block, texel, false);
      break;
   case 4:
      color = {bc4_number(block, texel, layout.is_signed), 0, 0, 1};
      break;
   case 5:
      color = {bc4_number(block, texel, layout.is_signed),
               bc4_number(second_half, texel, layout.is_signed), 0, 1};
      break;
   case 6:
      return bc6_color(block, texel, layout.is_signed);
   default:
      color = bc7_color(block, texel);
   }
   for (unsigned c = 0; layout.is_srgb && c < 3; ++c)
      color[c] = linear(color[c]);
   return color;
}

} // namespace weft::oracle
