// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Sampled images with random texels, random samplers and random coordinates, compared with the
/// oracle.

#pragma once

#include "tests/icd/image_fixture.h"
#include "tests/oracle/sampling.h"

#include <string>
#include <vector>

namespace weft::icd_test {

struct SampledKind {
   const char *type; ///< GLSL's
   const char *coordinates;
   VkImageViewType view;
   VkImageType image;
   int dimensions;
   bool is_array = false, is_cube = false;
};
extern const SampledKind kind_1d, kind_1d_array, kind_2d, kind_2d_array, kind_3d, kind_cube,
   kind_cube_array;

/// An image with random texels.
struct SampledContents {
   TestImage image;
   VkImageView view;
   VkComponentMapping swizzle;
   oracle::SampledTexels texels; ///< of the view
};

/// A shader's function and the operands that it takes.
struct SampledFunction {
   /// Of vec4 at (s, t, r, layer), vec4 more (lod, reference, …), vec4 dx, dy (gradients).
   std::string expression;
   bool compares = false;
   std::optional<int> gathered;
   std::array<int, 3> offset = {};
   bool has_lod = true;
   bool unnormalized = false;
   /// One level, components in order, one filter of means, repeated or clamped to the edge.
   bool is_plain = false;
   bool has_gradients = false;
   std::string head = {}; ///< of the shader: functions that the expression calls
};

/// The texels of a level, of a compressed format or another one.
class LevelTexels {
public:
   LevelTexels(const Format &, const VkExtent3D &, uint32_t layers);

   size_t bytes() const { return size_t(slice_bytes()) * slices; }
   size_t slice_bytes() const { return size_t(columns) * rows * unit_bytes; }
   oracle::Color numbers(std::span<const std::byte> data, int x, int y, int slice) const;
   /// The numbers as f32.
   oracle::Color color(std::span<const std::byte> data, int x, int y, int slice) const;
   double error() const;

private:
   Format format;
   uint32_t side; ///< texels of a block in each direction
   uint32_t unit_bytes, columns, rows, slices;
};

class SamplingTest : public ImageTest {
protected:
   /// All modes of compressed blocks are about equally frequent.
   TestBuffer make_texels(const Format &, VkDeviceSize size);
   /// Some views have a swizzle, if they may.
   SampledContents make_contents(const SampledKind &, const Format &, bool may_swizzle,
                                 bool may_have_levels = true);
   VkSampler make_sampler(const oracle::SamplerState &, const VkBorderColor &);
   oracle::SamplerState random_state(bool is_float, VkBorderColor *border);
   float random_coordinate();
   float special_number(); ///< infinities, NaNs, huge and tiny numbers

   /// Samples images of the formats with random samplers.
   void check(const SampledKind &, const SampledFunction &, const std::vector<Format> &,
              unsigned rounds = 12);
   void make_gradients(const SampledKind &, const oracle::SampledTexels &, float *x, float *y);
   void write_sampled(VkDescriptorSet, uint32_t binding, VkDescriptorType, VkImageView, VkSampler,
                      uint32_t element = 0);
   /// Runs a shader with an image at binding 0, sampled if there is a sampler, and a buffer at
   /// binding 1.
   void run_with(const std::string &glsl, VkImageView, const TestBuffer &out,
                 VkExtent3D groups = {1, 1, 1}, VkSampler = VK_NULL_HANDLE);
};

/// Formats that are filtered, without infinities and NaNs.
const std::vector<Format> &filtered_formats();
/// Formats whose plain reads have code of their own.
const std::vector<Format> &plain_formats();
const std::vector<Format> &depth_formats();
const std::vector<Format> &integer_formats();
const std::vector<Format> &compressed_formats();

} // namespace weft::icd_test
