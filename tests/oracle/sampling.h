// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Samples of images (Vulkan, "Image Operations"): an independent scalar implementation in f64.

#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

namespace weft::oracle {

using Color = std::array<double, 4>;

enum class Wrap { repeat, mirror, edge, border, mirror_once };
enum class Reduce { average, least, largest };
enum class Compare { never, less, equal, less_equal, greater, not_equal, greater_equal, always };

struct SamplerState {
   bool magnified_linear = false, minified_linear = false, levels_linear = false;
   bool unnormalized = false;
   bool single_faces = false; ///< a cube's faces have no neighbours
   std::array<Wrap, 3> wrap = {};
   Reduce reduce = Reduce::average;
   std::optional<Compare> compare;
   double bias = 0, least_lod = 0, largest_lod = 1000;
   double anisotropy = 1; ///< the largest ratio of the gradients' lengths
   Color border = {};
};

/// An image with its texels, in levels of slices. A cube's slices are layer * 6 + face.
struct SampledTexels {
   int dimensions; ///< 1 to 3
   bool is_cube = false, is_array = false;
   bool clamps_reference = false;          ///< depths are normalized numbers
   double largest = 0;                     ///< of all numbers, without their signs
   double error = 0;                       ///< of each number
   std::vector<std::array<int, 3>> levels; ///< their sizes; slices of an array are the third one
   std::function<Color(int level, int x, int y, int slice)> texel;
};

/// The derivatives of s, t, r, in place of a level of detail.
struct Gradients {
   std::array<double, 3> x, y;
   double ratio = 1; ///< a change of x's length, as a rounding error
};

/// The operands of a shader's instruction.
struct Sample {
   std::array<double, 3> at = {}; ///< s, t, r
   double layer = 0, lod = 0, reference = 0;
   std::array<int, 3> offset = {};
   std::optional<int> gathered; ///< the component of a gather
   std::optional<Gradients> gradients;
};

/// Texels whose weight is at most `negligible` are neither the least nor the largest ones.
Color sample(const SampledTexels &, const SamplerState &, const Sample &, double negligible = 0);

/// The largest magnitude of a component of a texel, or of the border.
double largest_color(const SampledTexels &, const SamplerState &);

/// Whether a shader may return `result`. The coordinates may be wrong by rounding errors of f32,
/// and the color at them by the rounding of weights and sums.
bool may_sample(const SampledTexels &, const SamplerState &, const Sample &, const Color &result,
                int components);

} // namespace weft::oracle
