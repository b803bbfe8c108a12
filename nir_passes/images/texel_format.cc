// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/images/texel_format.h"

#include "util/format/u_format.h"

#include <algorithm>
#include <iterator>

namespace weft {

namespace {

/// A function of Mesa has the same name.
using Description = struct util_format_description;

bool has_texels(const Description &d)
{
   const bool plain =
      d.layout == UTIL_FORMAT_LAYOUT_PLAIN || d.format == PIPE_FORMAT_R11G11B10_FLOAT;
   /* The second component is a stencil; without one, there may be bits of no use. */
   const bool has_depth_only = d.colorspace == UTIL_FORMAT_COLORSPACE_ZS &&
                               d.swizzle[0] <= PIPE_SWIZZLE_W && d.swizzle[1] > PIPE_SWIZZLE_W;
   const bool has_colors =
      d.colorspace == UTIL_FORMAT_COLORSPACE_RGB || d.colorspace == UTIL_FORMAT_COLORSPACE_SRGB;
   return plain && (has_depth_only || has_colors) && d.block.width == 1 && d.block.height == 1 &&
          d.block.depth == 1 && !d.is_mixed;
}

std::optional<TexelNumbers> numbers_of(const util_format_channel_description &channel)
{
   switch (channel.type) {
   case UTIL_FORMAT_TYPE_FLOAT:
      return TexelNumbers::floating;
   case UTIL_FORMAT_TYPE_UNSIGNED:
   case UTIL_FORMAT_TYPE_SIGNED:
      return channel.pure_integer ? TexelNumbers::integer
             : channel.normalized ? TexelNumbers::normalized
                                  : TexelNumbers::scaled;
   default:
      return std::nullopt;
   }
}

constexpr TexelFormat shared_exponent_format = {
   4, TexelNumbers::shared_exponent, 0, 1, {{{0, 9}, {9, 9}, {18, 9}, {}}}};

constexpr enum pipe_format block_formats[] = {
   PIPE_FORMAT_DXT1_RGB,       PIPE_FORMAT_DXT1_SRGB,       PIPE_FORMAT_DXT1_RGBA,
   PIPE_FORMAT_DXT1_SRGBA,     PIPE_FORMAT_DXT3_RGBA,       PIPE_FORMAT_DXT3_SRGBA,
   PIPE_FORMAT_DXT5_RGBA,      PIPE_FORMAT_DXT5_SRGBA,      PIPE_FORMAT_RGTC1_UNORM,
   PIPE_FORMAT_RGTC1_SNORM,    PIPE_FORMAT_RGTC2_UNORM,     PIPE_FORMAT_RGTC2_SNORM,
   PIPE_FORMAT_BPTC_RGB_FLOAT, PIPE_FORMAT_BPTC_RGB_UFLOAT, PIPE_FORMAT_BPTC_RGBA_UNORM,
   PIPE_FORMAT_BPTC_SRGBA,
};

std::optional<TexelFormat> find_block_format(const Description &d)
{
   const auto found = std::ranges::find(block_formats, d.format);
   if (found == std::end(block_formats))
      return std::nullopt;
   TexelFormat result = {.texel_bytes = uint8_t(d.block.bits / 8), .numbers = TexelNumbers::block};
   result.alpha_is_one = d.swizzle[3] == PIPE_SWIZZLE_1;
   for (unsigned c = 0; c < 4; ++c)
      result.fields[c].bits = d.swizzle[c] <= PIPE_SWIZZLE_W ? 8 : 0;
   result.fields[0].first = uint8_t(found - std::begin(block_formats));
   return result;
}

/// Integers of 64 bits.
std::optional<TexelFormat> find_wide_format(const Description &d)
{
   const util_format_channel_description &channel = d.channel[0];
   const unsigned count = d.nr_channels;
   if (!has_texels(d) || !channel.pure_integer || channel.size != 64 || count == 3)
      return std::nullopt;
   TexelFormat result = {.texel_bytes = uint8_t(8 * count)};
   result.is_signed = channel.type == UTIL_FORMAT_TYPE_SIGNED;
   result.alpha_is_one = count < 4;
   for (unsigned c = 0; c < count; ++c)
      result.fields[c] = {uint8_t(64 * c), 64};
   return result;
}

bool is_texel_size(unsigned bits)
{
   return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 96 || bits == 128;
}

} // namespace

std::optional<TexelFormat> texel_format(enum pipe_format format)
{
   if (format == PIPE_FORMAT_R9G9B9E5_FLOAT)
      return shared_exponent_format;
   const Description *d = util_format_description(format);
   if (format == PIPE_FORMAT_NONE || !d)
      return std::nullopt;
   if (const std::optional<TexelFormat> blocks = find_block_format(*d))
      return blocks;
   if (const std::optional<TexelFormat> wide = find_wide_format(*d))
      return wide;
   if (!has_texels(*d) || !is_texel_size(d->block.bits))
      return std::nullopt;
   TexelFormat result;
   result.texel_bytes = uint8_t(d->block.bits / 8);
   const bool is_depth = d->colorspace == UTIL_FORMAT_COLORSPACE_ZS;
   result.alpha_is_one = is_depth || d->swizzle[3] == PIPE_SWIZZLE_1;
   for (unsigned c = 0; c < 4; ++c) {
      if (d->swizzle[c] > PIPE_SWIZZLE_W)
         continue;
      const util_format_channel_description &channel = d->channel[d->swizzle[c]];
      const std::optional<TexelNumbers> numbers = numbers_of(channel);
      if (!numbers || channel.size > 32 || channel.shift % 32 + channel.size > 32)
         return std::nullopt;
      /* An f32 must hold the number exactly. */
      const bool converted =
         *numbers == TexelNumbers::normalized || *numbers == TexelNumbers::scaled;
      if (converted && channel.size > 24)
         return std::nullopt;
      const bool is_srgb = d->colorspace == UTIL_FORMAT_COLORSPACE_SRGB;
      result.numbers = is_srgb ? TexelNumbers::srgb : *numbers;
      result.is_signed = channel.type == UTIL_FORMAT_TYPE_SIGNED;
      result.fields[c] = {uint8_t(channel.shift), uint8_t(channel.size)};
   }
   return result;
}

enum pipe_format block_format(uint32_t number)
{
   return number < std::size(block_formats) ? block_formats[number] : PIPE_FORMAT_NONE;
}

unsigned texel_side(const TexelFormat &format)
{
   return format.numbers == TexelNumbers::block ? block_side : 1;
}

bool is_wide(const TexelFormat &format)
{
   return format.fields[0].bits == 64;
}

bool may_store(const TexelFormat &format)
{
   for (unsigned c = 0; c < 4; ++c) {
      for (unsigned other = 0; other < c; ++other) {
         if (format.fields[c].bits > 0 && format.fields[c] == format.fields[other])
            return false;
      }
   }
   return format.numbers == TexelNumbers::integer || format.numbers == TexelNumbers::normalized ||
          format.numbers == TexelNumbers::floating;
}

} // namespace weft
