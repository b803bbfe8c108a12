// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Samples of images of lumas and chromas (Vulkan, "Chroma Reconstruction" and "Sampler YCbCr
/// Conversion"): an independent scalar implementation in f64.

#pragma once

#include <array>
#include <functional>

namespace weft::oracle {

enum class YcbcrModel { rgb_identity, ycbcr_identity, bt709, bt601, bt2020 };

struct YcbcrConversion {
   YcbcrModel model;
   bool is_narrow;
   std::array<bool, 2> is_cosited; ///< else at the midpoint
   bool swaps;                     ///< R and B
   bool has_no_alpha;
   bool is_linear;
   int bits; ///< of a component
};

/// Components are R, G and B, from 0 to 1; R and B are smaller than G by `scale`.
struct YcbcrImage {
   std::array<int, 2> size, scale;
   std::function<double(int component, int x, int y)> value;
};

std::array<double, 4> convert(const YcbcrConversion &, const std::array<double, 3> &rgb);
/// At normalized coordinates. Texels beyond an edge are those at the edge.
std::array<double, 4> sample(const YcbcrImage &, const YcbcrConversion &, double s, double t);

} // namespace weft::oracle
