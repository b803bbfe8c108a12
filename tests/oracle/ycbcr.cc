// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/ycbcr.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::oracle {

namespace {

constexpr int red = 0, green = 1, blue = 2;

double filtered(const YcbcrImage &image, bool is_linear, int component, double u, double v)
{
   const bool is_luma = component == green;
   const auto texel = [&](double x, double y) {
      const int width = image.size[0] / (is_luma ? 1 : image.scale[0]),
                height = image.size[1] / (is_luma ? 1 : image.scale[1]);
      return image.value(component, int(std::clamp(x, 0.0, width - 1.0)),
                         int(std::clamp(y, 0.0, height - 1.0)));
   };
   if (!is_linear)
      return texel(std::floor(u), std::floor(v));
   const double x = std::floor(u - 0.5), y = std::floor(v - 0.5);
   const double a = u - 0.5 - x, b = v - 0.5 - y;
   return (1 - a) * (1 - b) * texel(x, y) + a * (1 - b) * texel(x + 1, y) +
          (1 - a) * b * texel(x, y + 1) + a * b * texel(x + 1, y + 1);
}

/// Implicit reconstruction: the coordinate in the smaller plane.
double chroma_coordinate(double u, int scale, bool is_cosited)
{
   if (scale == 1)
      return u;
   return is_cosited ? 0.5 * (u + 0.5) : 0.5 * u;
}

} // namespace

std::array<double, 4> convert(const YcbcrConversion &c, const std::array<double, 3> &rgb)
{
   std::array<double, 4> color = {rgb[red], rgb[green], rgb[blue], c.has_no_alpha ? 0.0 : 1.0};
   if (c.swaps)
      std::swap(color[red], color[blue]);
   if (c.model == YcbcrModel::rgb_identity)
      return color;
   const double largest = std::pow(2, c.bits) - 1, unit = std::pow(2, c.bits - 8);
   double y = color[green], cb = color[blue], cr = color[red];
   if (c.is_narrow) {
      y = (y * largest - 16 * unit) / (219 * unit);
      cb = (cb * largest - 128 * unit) / (224 * unit);
      cr = (cr * largest - 128 * unit) / (224 * unit);
   } else {
      cb -= std::pow(2, c.bits - 1) / largest;
      cr -= std::pow(2, c.bits - 1) / largest;
   }
   // The Khronos Data Format Specification, "Color Models".
   switch (c.model) {
   case YcbcrModel::bt709:
      return {y + 1.5748 * cr, y - 0.13397432 / 0.7152 * cb - 0.33480248 / 0.7152 * cr,
              y + 1.8556 * cb, color[3]};
   case YcbcrModel::bt601:
      return {y + 1.402 * cr, y - 0.202008 / 0.587 * cb - 0.419198 / 0.587 * cr, y + 1.772 * cb,
              color[3]};
   case YcbcrModel::bt2020:
      return {y + 1.4746 * cr, y - 0.11156702 / 0.6780 * cb - 0.38737742 / 0.6780 * cr,
              y + 1.8814 * cb, color[3]};
   default:
      return {cr, y, cb, color[3]};
   }
}

std::array<double, 4> sample(const YcbcrImage &image, const YcbcrConversion &c, double s, double t)
{
   const double u = s * image.size[0], v = t * image.size[1];
   const double chroma_u = chroma_coordinate(u, image.scale[0], c.is_cosited[0]),
                chroma_v = chroma_coordinate(v, image.scale[1], c.is_cosited[1]);
   return convert(c, {filtered(image, c.is_linear, red, chroma_u, chroma_v),
                      filtered(image, c.is_linear, green, u, v),
                      filtered(image, c.is_linear, blue, chroma_u, chroma_v)});
}

} // namespace weft::oracle
