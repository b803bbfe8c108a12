// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/oracle/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::oracle {

namespace {

using Vector = std::array<double, 3>;

Vector operator+(const Vector &a, const Vector &b)
{
   return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
Vector operator*(double x, const Vector &a)
{
   return {x * a[0], x * a[1], x * a[2]};
}
double dot(const Vector &a, const Vector &b)
{
   return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// The planes of a cube's faces (Vulkan's table of face selection): s and t run along two vectors.
struct Face {
   Vector normal, s, t;
};
const Face faces[6] = {
   {{1, 0, 0}, {0, 0, -1}, {0, -1, 0}}, {{-1, 0, 0}, {0, 0, 1}, {0, -1, 0}},
   {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}},   {{0, -1, 0}, {1, 0, 0}, {0, 0, -1}},
   {{0, 0, 1}, {1, 0, 0}, {0, -1, 0}},  {{0, 0, -1}, {-1, 0, 0}, {0, -1, 0}},
};

int face_of(const Vector &direction)
{
   int best = 0;
   for (int f = 0; f < 6; ++f) {
      // Of equal components, z goes before y before x.
      if (dot(faces[f].normal, direction) >= dot(faces[best].normal, direction))
         best = f;
   }
   return best;
}

int modulo(double i, int size)
{
   const double rest = std::fmod(i, size);
   return int(rest < 0 ? rest + size : rest);
}

/// -1 is the border.
int wrapped(Wrap wrap, double i, int size)
{
   const auto mirrored = [](double n) { return n >= 0 ? n : -(1 + n); };
   switch (wrap) {
   case Wrap::repeat:
      return modulo(i, size);
   case Wrap::mirror:
      return int(size - 1 - mirrored(modulo(i, 2 * size) - size));
   case Wrap::edge:
      return int(std::clamp(i, 0.0, size - 1.0));
   case Wrap::mirror_once:
      return int(std::clamp(mirrored(i), 0.0, size - 1.0));
   case Wrap::border:
      return i >= 0 && i < size ? int(i) : -1;
   }
   return -1;
}

bool holds(Compare compare, double reference, double depth)
{
   switch (compare) {
   case Compare::never:
      return false;
   case Compare::less:
      return reference < depth;
   case Compare::equal:
      return reference == depth;
   case Compare::less_equal:
      return reference <= depth;
   case Compare::greater:
      return reference > depth;
   case Compare::not_equal:
      return reference != depth;
   case Compare::greater_equal:
      return reference >= depth;
   case Compare::always:
      return true;
   }
   return false;
}

/// The lengths of the gradients, in texels of level 0. The errors are relative, of f32.
struct Scales {
   double x, y, error_x, error_y;
};

Vector face_slope(const Face &face, const Vector &at, const Vector &step)
{
   const double major = dot(face.normal, at), change = dot(face.normal, step);
   const auto slope = [&](const Vector &axis) {
      return (dot(axis, step) * major - dot(axis, at) * change) / (2 * major * major);
   };
   return {slope(face.s), slope(face.t), 0};
}

/// The sum of both products of face_slope(), each without its sign.
double face_slope_magnitude(const Face &face, const Vector &at, const Vector &step)
{
   const double major = std::abs(dot(face.normal, at)), change = std::abs(dot(face.normal, step));
   double sum = 0;
   for (const Vector &axis : {face.s, face.t})
      sum += std::abs(dot(axis, step)) * major + std::abs(dot(axis, at)) * change;
   return sum / (2 * major * major);
}

Scales scales_of(const SampledTexels &image, const Sample &operands)
{
   const Face &face = faces[face_of(operands.at)];
   const auto length = [&](const Vector &gradient, double *error) {
      const Vector step = image.is_cube ? face_slope(face, operands.at, gradient) : gradient;
      double sum = 0;
      for (int d = 0; d < image.dimensions; ++d)
         sum += std::pow(step[d] * image.levels[0][d], 2);
      const double length = std::sqrt(sum), rounding = std::ldexp(1, -24);
      *error = 8 * rounding;
      if (image.is_cube && length > 0)
         *error *=
            1 + face_slope_magnitude(face, operands.at, gradient) * image.levels[0][0] / length;
      return length;
   };
   Scales scales;
   scales.x = length(operands.gradients->x, &scales.error_x);
   scales.y = length(operands.gradients->y, &scales.error_y);
   scales.x *= operands.gradients->ratio;
   return scales;
}

double ratio_of(const Scales &scales, double most)
{
   const double longer = std::max(scales.x, scales.y), shorter = std::min(scales.x, scales.y);
   return longer == 0 ? 1 : shorter == 0 ? most : std::min(longer / shorter, most);
}

double lod_of(const SampledTexels &image, const SamplerState &state, const Sample &operands)
{
   if (!operands.gradients)
      return operands.lod;
   const Scales scales = scales_of(image, operands);
   // Below each least level, but finite: errors are added to it.
   const double least = std::ldexp(1, -100);
   return std::log2(std::max({scales.x, scales.y, least}) / ratio_of(scales, state.anisotropy)) +
          operands.lod;
}

class Sampler {
public:
   Sampler(const SampledTexels &image, const SamplerState &state, const Sample &operands,
           double negligible)
       : image(image), state(state), operands(operands), negligible(negligible)
   {
      const double slices = image.levels[0][2] / (image.is_cube ? 6 : 1);
      if (image.is_array)
         slice = int(std::clamp(std::nearbyint(operands.layer), 0.0, slices - 1));
      if (image.is_cube)
         slice *= 6;
      place(operands.at);
   }

   Color run()
   {
      if (operands.gathered)
         return gather();
      const double lod =
         std::clamp(lod_of(image, state, operands) + std::clamp(state.bias, -16.0, 16.0),
                    state.least_lod, state.largest_lod);
      linear = lod > 0 ? state.minified_linear : state.magnified_linear;
      const double level = std::clamp(lod, 0.0, double(image.levels.size() - 1));
      if (!operands.gradients) {
         add_probe(level, 1);
         return sum();
      }
      const Scales scales = scales_of(image, operands);
      const int probes = int(std::ceil(ratio_of(scales, state.anisotropy)));
      const Vector &gradient = scales.x > scales.y ? operands.gradients->x : operands.gradients->y;
      for (int i = 1; i <= probes; ++i) {
         place(operands.at + (-0.5 + double(i) / (probes + 1)) * gradient);
         add_probe(level, 1.0 / probes);
      }
      return sum();
   }

private:
   struct Texel {
      double weight;
      Color color;
   };

   void place(const Vector &coordinates)
   {
      at = coordinates;
      if (!image.is_cube)
         return;
      face = face_of(at);
      const double major = dot(faces[face].normal, at);
      at = {dot(faces[face].s, coordinates) / major / 2 + 0.5,
            dot(faces[face].t, coordinates) / major / 2 + 0.5, 0};
   }

   /// An isotropic sample, of one or two levels.
   void add_probe(double level, double weight)
   {
      if (!state.levels_linear) {
         add_level(int(std::ceil(level + 0.5)) - 1, weight);
         return;
      }
      const int first = int(level);
      add_level(first, weight * (1 - (level - first)));
      if (level > first)
         add_level(first + 1, weight * (level - first));
   }

   Color compared(Color color)
   {
      if (!state.compare)
         return color;
      const double reference =
         image.clamps_reference ? std::clamp(operands.reference, 0.0, 1.0) : operands.reference;
      return {holds(*state.compare, reference, color[0]) ? 1.0 : 0.0, 0, 0, 1};
   }

   /// A texel of a cube that may lie beyond an edge of its face. Nothing beyond a corner.
   std::optional<Color> cube_texel(int level, int x, int y)
   {
      const int size = image.levels[level][0];
      const bool outside_x = x < 0 || x >= size, outside_y = y < 0 || y >= size;
      if (outside_x && outside_y)
         return std::nullopt;
      int number = face;
      if (outside_x || outside_y) {
         const auto place = [&](int i) { return std::clamp((2 * i + 1.0) / size - 1, -1.0, 1.0); };
         const Vector edge =
            faces[face].normal + place(x) * faces[face].s + place(y) * faces[face].t;
         const Vector beyond =
            outside_x ? (x < 0 ? -1 : 1) * faces[face].s : (y < 0 ? -1 : 1) * faces[face].t;
         number = face_of(beyond);
         // Half a texel from the edge, away from this face.
         const Vector middle = edge + (-1.0 / size) * faces[face].normal;
         x = int(std::floor((dot(faces[number].s, middle) + 1) / 2 * size));
         y = int(std::floor((dot(faces[number].t, middle) + 1) / 2 * size));
      }
      return compared(image.texel(level, x, y, slice + number));
   }

   std::optional<Color> texel(int level, const std::array<double, 3> &number)
   {
      if (image.is_cube && !state.single_faces)
         return cube_texel(level, int(number[0]), int(number[1]));
      std::array<int, 3> place = {0, 0, image.is_cube ? slice + face : slice};
      for (int d = 0; d < image.dimensions; ++d) {
         place[d] = wrapped(state.wrap[d], number[d], image.levels[level][d]);
         if (place[d] < 0)
            return compared(state.border);
      }
      return compared(image.texel(level, place[0], place[1], place[2]));
   }

   void add_level(int level, double level_weight)
   {
      std::array<double, 3> first = {}, fraction = {};
      for (int d = 0; d < image.dimensions; ++d) {
         const int size = image.levels[level][d];
         double u = state.unnormalized ? at[d] : at[d] * size;
         if (image.is_cube && !state.single_faces)
            u = std::clamp(u, 0.0, linear ? double(size) : size - 0.5);
         first[d] = std::floor(linear ? u - 0.5 : u);
         fraction[d] = linear ? u - 0.5 - first[d] : 0;
         first[d] += operands.offset[d];
      }
      std::vector<Texel> found;
      double missing = 0;
      for (int corner = 0; corner < 1 << image.dimensions; ++corner) {
         double weight = 1;
         std::array<double, 3> number = first;
         for (int d = 0; d < image.dimensions; ++d) {
            const bool second = corner >> d & 1;
            weight *= second ? fraction[d] : 1 - fraction[d];
            number[d] += second;
         }
         if (weight == 0)
            continue;
         if (const std::optional<Color> color = texel(level, number))
            found.push_back({weight, *color});
         else
            missing = weight;
      }
      for (Texel &t : found) {
         t.weight = level_weight * (t.weight + missing / 3);
         texels.push_back(t);
      }
   }

   Color sum() const
   {
      Color color;
      for (int c = 0; c < 4; ++c) {
         double average = 0, least = std::numeric_limits<double>::infinity(), most = -least;
         for (const Texel &t : texels) {
            average += t.weight * t.color[c];
            if (t.weight <= negligible)
               continue;
            least = std::min(least, t.color[c]);
            most = std::max(most, t.color[c]);
         }
         color[c] = state.reduce == Reduce::average ? average
                    : state.reduce == Reduce::least ? least
                                                    : most;
      }
      return color;
   }

   Color gather()
   {
      std::array<double, 3> first = {};
      for (int d = 0; d < 2; ++d) {
         const int size = image.levels[0][d];
         first[d] = std::floor((state.unnormalized ? at[d] : at[d] * size) - 0.5);
         first[d] += operands.offset[d];
      }
      const int order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
      Color color;
      for (int c = 0; c < 4; ++c) {
         const std::optional<Color> t =
            texel(0, {first[0] + order[c][0], first[1] + order[c][1], 0});
         color[c] = t ? (*t)[*operands.gathered] : std::nan("");
      }
      return color;
   }

   const SampledTexels &image;
   const SamplerState &state;
   const Sample &operands;
   const double negligible;
   Vector at;
   int face = 0, slice = 0;
   bool linear = true;
   std::vector<Texel> texels;
};

} // namespace

Color sample(const SampledTexels &image, const SamplerState &state, const Sample &operands,
             double negligible)
{
   return Sampler(image, state, operands, negligible).run();
}

double largest_color(const SampledTexels &image, const SamplerState &state)
{
   double largest = image.largest;
   for (double c : state.border)
      largest = std::max(largest, std::abs(c));
   return largest;
}

bool may_sample(const SampledTexels &image, const SamplerState &state, const Sample &operands,
                const Color &result, int components)
{
   constexpr double rounding = 1.0 / (1 << 24);
   // A coordinate takes part in a reduction to a period, a product and a sum; on a cube, also in
   // two divisions. Beyond a few periods, f32 and f64 agree on the reduction, but not on the place
   // of a probe.
   double lod_error =
      4 * rounding * (1 + std::abs(lod_of(image, state, operands)) + std::abs(state.bias));
   double ratio_error = 0;
   if (operands.gradients) {
      const Scales scales = scales_of(image, operands);
      ratio_error = scales.error_x + scales.error_y;
      lod_error += 2 * ratio_error;
   }
   std::array<double, 3> errors = {};
   const int perturbed = image.is_cube ? 3 : image.dimensions;
   double slack = 2 * lod_error + 16 * rounding;
   for (int d = 0; d < perturbed; ++d) {
      const double size = image.levels[0][d == 2 && image.is_cube ? 0 : d];
      double magnitude = std::clamp(std::abs(operands.at[d]), 1.0, 4.0 * size);
      if (operands.gradients)
         magnitude = std::max(1.0, std::abs(operands.at[d]) + std::abs(operands.gradients->x[d]) +
                                      std::abs(operands.gradients->y[d]));
      errors[d] = 8 * rounding * magnitude;
      slack += 2 * errors[d] * (state.unnormalized ? 1 : size);
   }
   const double most = largest_color(image, state);
   // Colors in sRGB are powers, whose error the texels have before they are weighted.
   const double tolerance = most * slack + image.error;
   const int tries = perturbed == 1 ? 3 : perturbed == 2 ? 9 : 27;
   const int ratios = operands.gradients ? 3 : 1;
   for (int change = 0; change < 2 * tries * 3 * ratios; ++change) {
      Sample other = operands;
      int rest = change;
      for (int d = 0; d < perturbed; ++d, rest /= 3)
         other.at[d] += (rest % 3 - 1) * errors[d];
      other.lod += (rest % 3 - 1) * lod_error;
      rest /= 3;
      if (operands.gradients) {
         // On a cube, the slopes of a gradient may cancel: the error may exceed the length.
         other.gradients->ratio = std::max(0.0, 1 + (rest % 3 - 1) * ratio_error);
         rest /= 3;
      }
      // A weight that rounds to 0 has no texel.
      const Color expected = sample(image, state, other, rest * slack);
      bool agrees = true;
      for (int c = 0; c < components; ++c) {
         // Nothing is expected of a texel beyond a corner of a cube.
         if (!std::isnan(expected[c]) && !(std::abs(expected[c] - result[c]) <= tolerance))
            agrees = false;
      }
      if (agrees)
         return true;
   }
   return false;
}

} // namespace weft::oracle
