// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/planes.h"

#include "nir_passes/images/texel_format.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft {

namespace {

/// Y', C_B, C_R and 1.
using Row = std::array<double, 4>;

/// A component of a format after range expansion ("Sampler YCbCr Range Expansion"): scale and
/// offset.
struct Expansion {
   double scale, offset;
};

Expansion expand(const vk_ycbcr_conversion_state &state, bool is_chroma)
{
   const VkFormat plane = planes_of(state.format)->planes[0].format;
   const int bits = vk_format_get_component_bits(plane, UTIL_FORMAT_COLORSPACE_RGB, 0);
   const double largest = std::ldexp(1, bits) - 1, unit = std::ldexp(1, bits - 8);
   if (state.ycbcr_range == VK_SAMPLER_YCBCR_RANGE_ITU_FULL)
      return {1, is_chroma ? -128 * unit / largest : 0};
   const double range = (is_chroma ? 224 : 219) * unit, zero = (is_chroma ? 128 : 16) * unit;
   return {largest / range, -zero / range};
}

/// The weights of R and B in the luma.
struct Weights {
   double red, blue;
};

Weights weights_of(VkSamplerYcbcrModelConversion model)
{
   switch (model) {
   case VK_SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709:
      return {0.2126, 0.0722};
   case VK_SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601:
      return {0.299, 0.114};
   default:
      return {0.2627, 0.0593};
   }
}

/// R, G and B from expanded components.
std::array<Row, 3> model_rows(VkSamplerYcbcrModelConversion model)
{
   if (model == VK_SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY ||
       model == VK_SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_IDENTITY)
      return {Row{0, 0, 1}, Row{1}, Row{0, 1}};
   const auto [red, blue] = weights_of(model);
   const double green = 1 - red - blue;
   return {Row{1, 0, 2 * (1 - red)},
           Row{1, -2 * blue * (1 - blue) / green, -2 * red * (1 - red) / green},
           Row{1, 2 * (1 - blue), 0}};
}

} // namespace

const vk_format_ycbcr_info *planes_of(VkFormat format)
{
   const vk_format_ycbcr_info *info = vk_format_get_ycbcr_info(format);
   if (!info || info->n_planes < 2)
      return nullptr;
   // Without subsampling, any component may replace another one.
   const auto &chroma = info->planes[1];
   if (chroma.denominator_scales[0] == 1)
      return nullptr;
   for (uint32_t i = 0; i < info->n_planes; i++) {
      const std::optional<TexelFormat> texels =
         texel_format(vk_format_to_pipe_format(info->planes[i].format));
      if (!texels || texels->numbers != TexelNumbers::normalized)
         return nullptr;
   }
   return info;
}

uint32_t plane_number(VkImageAspectFlags aspect)
{
   return aspect == VK_IMAGE_ASPECT_PLANE_1_BIT ? 1 : aspect == VK_IMAGE_ASPECT_PLANE_2_BIT ? 2 : 0;
}

bool swaps_chromas(const vk_ycbcr_conversion_state &state)
{
   return state.mapping[2] == VK_COMPONENT_SWIZZLE_R;
}

ConversionDescriptor describe_conversion(const vk_ycbcr_conversion_state &state)
{
   ConversionDescriptor descriptor = {};
   const bool is_expanded = state.ycbcr_model != VK_SAMPLER_YCBCR_MODEL_CONVERSION_RGB_IDENTITY;
   const std::array<Row, 3> rows = model_rows(state.ycbcr_model);
   for (uint32_t r = 0; r < 3; r++) {
      double offset = 0;
      for (uint32_t c = 0; c < 3; c++) {
         const Expansion e = is_expanded ? expand(state, c > 0) : Expansion{1, 0};
         descriptor.rows[r][c] = float(rows[r][c] * e.scale);
         offset += rows[r][c] * e.offset;
      }
      descriptor.rows[r][3] = float(offset);
   }
   descriptor.alpha = state.mapping[3] == VK_COMPONENT_SWIZZLE_ZERO ? 0.0f : 1.0f;
   return descriptor;
}

} // namespace weft
