// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/icd/sampling_fixture.h"

#include "tests/vulkan/descriptor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <sstream>

namespace weft::icd_test {

const SampledKind
   kind_1d = {"1D", "at.x", VK_IMAGE_VIEW_TYPE_1D, VK_IMAGE_TYPE_1D, 1},
   kind_1d_array = {"1DArray", "at.xw", VK_IMAGE_VIEW_TYPE_1D_ARRAY, VK_IMAGE_TYPE_1D, 1, true},
   kind_2d = {"2D", "at.xy", VK_IMAGE_VIEW_TYPE_2D, VK_IMAGE_TYPE_2D, 2},
   kind_2d_array = {"2DArray", "at.xyw", VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_TYPE_2D, 2, true},
   kind_3d = {"3D", "at.xyz", VK_IMAGE_VIEW_TYPE_3D, VK_IMAGE_TYPE_3D, 3},
   kind_cube = {"Cube", "at.xyz", VK_IMAGE_VIEW_TYPE_CUBE, VK_IMAGE_TYPE_2D, 2, false, true},
   kind_cube_array = {"CubeArray", "at", VK_IMAGE_VIEW_TYPE_CUBE_ARRAY, VK_IMAGE_TYPE_2D, 2,
                      true,        true};

#define FORMAT(name) VK_FORMAT_##name, #name

const std::vector<Format> &filtered_formats()
{
   static const std::vector<Format> formats = {
      {FORMAT(R8G8B8A8_UNORM)},        {FORMAT(B8G8R8A8_SNORM)}, {FORMAT(R8G8B8A8_SRGB)},
      {FORMAT(R32G32B32A32_SFLOAT)},   {FORMAT(R16G16_SFLOAT)},  {FORMAT(E5B9G9R9_UFLOAT_PACK32)},
      {FORMAT(R5G6B5_UNORM_PACK16)},   {FORMAT(R8_UNORM)},       {FORMAT(R16G16B16A16_UNORM)},
      {FORMAT(A4R4G4B4_UNORM_PACK16)},
   };
   return formats;
}

const std::vector<Format> &plain_formats()
{
   static const std::vector<Format> formats = {{FORMAT(R8G8B8A8_UNORM)},
                                               {FORMAT(R32_SFLOAT)},
                                               {FORMAT(R16G16B16A16_SFLOAT)},
                                               {FORMAT(R32G32B32A32_SFLOAT)}};
   return formats;
}

const std::vector<Format> &depth_formats()
{
   // Beside stencils, depths have a plane of their own.
   static const std::vector<Format> formats = {
      {FORMAT(D16_UNORM)},
      {FORMAT(X8_D24_UNORM_PACK32)},
      {FORMAT(D32_SFLOAT)},
      {VK_FORMAT_D16_UNORM_S8_UINT, "D16_UNORM"},
      {VK_FORMAT_D24_UNORM_S8_UINT, "X8_D24_UNORM_PACK32"},
      {VK_FORMAT_D32_SFLOAT_S8_UINT, "D32_SFLOAT"},
   };
   return formats;
}

const std::vector<Format> &integer_formats()
{
   static const std::vector<Format> formats = {{FORMAT(R8G8B8A8_UINT)}, {FORMAT(R32G32_UINT)}};
   return formats;
}

const std::vector<Format> &compressed_formats()
{
   static const std::vector<Format> formats = {
      {FORMAT(BC1_RGB_UNORM_BLOCK)}, {FORMAT(BC1_RGB_SRGB_BLOCK)}, {FORMAT(BC1_RGBA_UNORM_BLOCK)},
      {FORMAT(BC1_RGBA_SRGB_BLOCK)}, {FORMAT(BC2_UNORM_BLOCK)},    {FORMAT(BC2_SRGB_BLOCK)},
      {FORMAT(BC3_UNORM_BLOCK)},     {FORMAT(BC3_SRGB_BLOCK)},     {FORMAT(BC4_UNORM_BLOCK)},
      {FORMAT(BC4_SNORM_BLOCK)},     {FORMAT(BC5_UNORM_BLOCK)},    {FORMAT(BC5_SNORM_BLOCK)},
      {FORMAT(BC6H_UFLOAT_BLOCK)},   {FORMAT(BC6H_SFLOAT_BLOCK)},  {FORMAT(BC7_UNORM_BLOCK)},
      {FORMAT(BC7_SRGB_BLOCK)},
   };
   return formats;
}

namespace {

constexpr uint32_t lookups = 256;

struct Operands {
   float at[4], more[4], dx[4], dy[4];
};

/// Clears the first bit of the exponents of floating-point numbers: all are less than 2.
void make_finite(const oracle::TexelLayout &layout, std::span<uint8_t> bytes)
{
   const bool has_sign = layout.kind == oracle::TexelKind::sfloat;
   if (!has_sign && layout.kind != oracle::TexelKind::ufloat)
      return;
   for (size_t texel = 0; texel + layout.bytes <= bytes.size(); texel += layout.bytes) {
      for (const oracle::TexelLayout::Component &c : layout.components) {
         const unsigned bit = c.first + c.bits - 1 - has_sign;
         bytes[texel + bit / 8] &= uint8_t(~(1u << bit % 8));
      }
   }
}

/// A component of a color after the swizzle of a view.
double swizzled(const oracle::Color &color, VkComponentSwizzle swizzle, int component)
{
   switch (swizzle) {
   case VK_COMPONENT_SWIZZLE_IDENTITY:
      return color[component];
   case VK_COMPONENT_SWIZZLE_ZERO:
      return 0;
   case VK_COMPONENT_SWIZZLE_ONE:
      return 1;
   default:
      return color[swizzle - VK_COMPONENT_SWIZZLE_R];
   }
}

oracle::Color swizzled(const oracle::Color &color, const VkComponentMapping &m)
{
   return {swizzled(color, m.r, 0), swizzled(color, m.g, 1), swizzled(color, m.b, 2),
           swizzled(color, m.a, 3)};
}

/// The state of a sampler with unnormalized coordinates ("Unnormalized Texel Coordinates").
void use_texels(oracle::SamplerState *state)
{
   state->unnormalized = true;
   state->minified_linear = state->magnified_linear;
   state->levels_linear = false;
   state->least_lod = state->largest_lod = state->bias = 0;
   for (oracle::Wrap &wrap : state->wrap)
      wrap = wrap < oracle::Wrap::border ? oracle::Wrap::edge : oracle::Wrap::border;
}

} // namespace

LevelTexels::LevelTexels(const Format &format, const VkExtent3D &extent, uint32_t layers)
    : format(format), side(format.is_compressed() ? oracle::block_side : 1),
      unit_bytes(format.is_compressed() ? format.blocks().bytes : format.layout().bytes),
      columns((extent.width + side - 1) / side), rows((extent.height + side - 1) / side),
      slices(extent.depth * layers)
{
}

oracle::Color LevelTexels::numbers(std::span<const std::byte> data, int x, int y, int slice) const
{
   const size_t unit = (size_t(slice) * rows + uint32_t(y) / side) * columns + uint32_t(x) / side;
   const auto bytes = data.subspan(unit * unit_bytes, unit_bytes);
   if (format.is_compressed())
      return oracle::block_texel(format.blocks(), bytes, uint32_t(x) % side, uint32_t(y) % side);
   oracle::Color numbers;
   for (int c = 0; c < 4; ++c)
      numbers[c] = oracle::texel_value(format.layout(), bytes, "RGBA"[c]);
   return numbers;
}

oracle::Color LevelTexels::color(std::span<const std::byte> data, int x, int y, int slice) const
{
   oracle::Color color = numbers(data, x, y, slice);
   for (double &c : color)
      c = float(c);
   return color;
}

double LevelTexels::error() const
{
   return format.is_compressed() ? format.blocks().error() : 0;
}

TestBuffer SamplingTest::make_texels(const Format &format, VkDeviceSize size)
{
   const TestBuffer buffer = make_random_buffer(size);
   if (!format.is_compressed()) {
      make_finite(format.layout(), buffer.as<uint8_t>());
      return buffer;
   }
   const auto blocks = format.blocks();
   for (size_t i = 0; i < size; i += blocks.bytes) {
      if (blocks.number == 7)
         buffer.map[i] = uint8_t((buffer.map[i] | 1) << random() % 9);
      // BC1 and BC4: the order of the ends, and equal ones.
      if (blocks.number < 6 && random() % 8 == 0)
         std::copy_n(buffer.map + i, 2, buffer.map + i + 2);
   }
   return buffer;
}

SampledContents SamplingTest::make_contents(const SampledKind &kind, const Format &format,
                                            bool may_swizzle, bool may_have_levels)
{
   const auto below = [&](uint32_t limit) { return 1 + uint32_t(random() % limit); };
   ImageRecipe recipe = {
      .format = format.format, .type = kind.image, .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
   recipe.extent = {below(24), kind.dimensions > 1 ? below(20) : 1,
                    kind.dimensions > 2 ? below(9) : 1};
   if (kind.is_cube) {
      recipe.extent.height = recipe.extent.width;
      recipe.flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
   }
   // The view begins with level 1 of 3 and with the second layer or cube.
   const uint32_t largest =
      std::max({recipe.extent.width, recipe.extent.height, recipe.extent.depth});
   recipe.levels = may_have_levels ? below(uint32_t(std::bit_width(largest))) : 1;
   const uint32_t first_level = recipe.levels > 2 ? 1 : 0, levels = recipe.levels - first_level;
   const uint32_t faces = kind.is_cube ? 6 : 1,
                  first_layer = kind.image == VK_IMAGE_TYPE_3D ? 0 : faces,
                  layers = faces * (kind.is_array ? below(4) : 1);
   recipe.layers = first_layer + layers;

   SampledContents contents = {make_image(recipe), VK_NULL_HANDLE, {}, {}};
   if (may_swizzle && random() % 3 == 0) {
      VkComponentMapping &m = contents.swizzle;
      for (VkComponentSwizzle *swizzle : {&m.r, &m.g, &m.b, &m.a})
         *swizzle = VkComponentSwizzle(random() % 7);
   }
   auto data = std::make_shared<std::vector<std::vector<std::byte>>>();
   auto sources = std::make_shared<std::vector<LevelTexels>>();
   for (uint32_t level = 0; level < recipe.levels; ++level) {
      const VkExtent3D e = contents.image.extent(level);
      const LevelTexels level_texels(format, e, recipe.layers);
      TestBuffer buffer = make_texels(format, level_texels.bytes());
      fill(contents.image, buffer, level);
      if (level < first_level)
         continue;
      contents.texels.levels.push_back(
         {int(e.width), int(e.height), int(kind.image == VK_IMAGE_TYPE_3D ? e.depth : layers)});
      sources->push_back(level_texels);
      const auto bytes = buffer.as<std::byte>().subspan(first_layer * level_texels.slice_bytes());
      data->emplace_back(bytes.begin(), bytes.end());
   }
   oracle::SampledTexels &texels = contents.texels;
   texels.dimensions = kind.dimensions;
   texels.is_cube = kind.is_cube;
   texels.is_array = kind.is_array;
   texels.clamps_reference =
      !format.is_compressed() && format.layout().kind == oracle::TexelKind::unorm;
   texels.error = sources->front().error();
   const auto sizes = texels.levels;
   texels.texel = [sources, data, swizzle = contents.swizzle](int level, int x, int y, int slice) {
      return swizzled(sources->at(level).color(data->at(level), x, y, slice), swizzle);
   };
   for (int level = 0; level < int(levels); ++level) {
      const auto &s = sizes[level];
      for (int i = 0; i < s[0] * s[1] * s[2]; ++i) {
         for (double c : texels.texel(level, i % s[0], i / s[0] % s[1], i / s[0] / s[1]))
            texels.largest = std::max(texels.largest, std::abs(c));
      }
   }
   contents.view = make_image_view(contents.image, kind.view, first_level, first_layer, layers,
                                   levels, contents.swizzle);
   return contents;
}

oracle::SamplerState SamplingTest::random_state(bool is_float, VkBorderColor *border)
{
   const auto coin = [&] { return random() % 2 == 0; };
   oracle::SamplerState state;
   state.magnified_linear = is_float && coin();
   state.minified_linear = is_float && coin();
   state.levels_linear = is_float && coin();
   for (oracle::Wrap &wrap : state.wrap)
      wrap = oracle::Wrap(random() % 5);
   if (is_float && random() % 4 == 0)
      state.reduce = coin() ? oracle::Reduce::least : oracle::Reduce::largest;
   state.bias = coin() ? 0 : float(int(random() % 9) - 4) / 4;
   state.least_lod = coin() ? 0 : float(random() % 8) / 4;
   state.largest_lod = coin() ? 1000 : state.least_lod + float(random() % 12) / 4;
   const unsigned color = random() % 4;
   const VkBorderColor floats[] = {VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK,
                                   VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK,
                                   VK_BORDER_COLOR_FLOAT_OPAQUE_WHITE},
                       integers[] = {VK_BORDER_COLOR_INT_TRANSPARENT_BLACK,
                                     VK_BORDER_COLOR_INT_OPAQUE_BLACK,
                                     VK_BORDER_COLOR_INT_OPAQUE_WHITE};
   if (color == 3) {
      *border = is_float ? VK_BORDER_COLOR_FLOAT_CUSTOM_EXT : VK_BORDER_COLOR_INT_CUSTOM_EXT;
      for (double &c : state.border)
         c = is_float ? float(random() % 17) / 16 : double(random() % 200);
      return state;
   }
   *border = is_float ? floats[color] : integers[color];
   const double rgb = color == 2, alpha = color > 0;
   state.border = {rgb, rgb, rgb, alpha};
   return state;
}

void SamplingTest::run_with(const std::string &glsl, VkImageView view, const TestBuffer &out,
                            VkExtent3D groups, VkSampler sampler)
{
   const VkDescriptorType type =
      sampler ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE;
   PipelineRecipe recipe;
   recipe.sets = {
      make_set_layout({binding(0, type), binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   VkPipeline pipeline = make_pipeline(
      "#extension GL_EXT_samplerless_texture_functions : require\n" + glsl, recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   write_sampled(set, 0, type, view, sampler);
   write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   VkCommandBuffer cmd = begin();
   vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
   vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
   vkCmdDispatch(cmd, groups.width, groups.height, groups.depth);
   run(cmd);
}

VkSampler SamplingTest::make_sampler(const oracle::SamplerState &state, const VkBorderColor &border)
{
   const VkSamplerAddressMode modes[] = {
      VK_SAMPLER_ADDRESS_MODE_REPEAT, VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
      VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
      VK_SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE};
   const VkSamplerReductionModeCreateInfo reduction = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_REDUCTION_MODE_CREATE_INFO,
      .reductionMode = VkSamplerReductionMode(state.reduce),
   };
   VkSamplerCustomBorderColorCreateInfoEXT custom = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CUSTOM_BORDER_COLOR_CREATE_INFO_EXT,
      .pNext = &reduction,
   };
   for (int c = 0; c < 4; ++c) {
      if (border == VK_BORDER_COLOR_INT_CUSTOM_EXT)
         custom.customBorderColor.uint32[c] = uint32_t(state.border[c]);
      else
         custom.customBorderColor.float32[c] = float(state.border[c]);
   }
   const bool is_custom =
      border == VK_BORDER_COLOR_FLOAT_CUSTOM_EXT || border == VK_BORDER_COLOR_INT_CUSTOM_EXT;
   const VkSamplerCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
      .pNext = is_custom ? static_cast<const void *>(&custom) : &reduction,
      .flags = state.single_faces
                  ? VkSamplerCreateFlags(VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT)
                  : 0,
      .magFilter = VkFilter(state.magnified_linear),
      .minFilter = VkFilter(state.minified_linear),
      .mipmapMode = VkSamplerMipmapMode(state.levels_linear),
      .addressModeU = modes[int(state.wrap[0])],
      .addressModeV = modes[int(state.wrap[1])],
      .addressModeW = modes[int(state.wrap[2])],
      .mipLodBias = float(state.bias),
      .anisotropyEnable = state.anisotropy > 1,
      .maxAnisotropy = float(state.anisotropy),
      .compareEnable = state.compare.has_value(),
      .compareOp = state.compare ? VkCompareOp(*state.compare) : VK_COMPARE_OP_NEVER,
      .minLod = float(state.least_lod),
      .maxLod = float(state.largest_lod),
      .borderColor = border,
      .unnormalizedCoordinates = state.unnormalized,
   };
   VkSampler sampler = VK_NULL_HANDLE;
   EXPECT_VK(vkCreateSampler(device, &info, nullptr, &sampler));
   clean_up.push_back([this, sampler] { vkDestroySampler(device, sampler, nullptr); });
   return sampler;
}

float SamplingTest::special_number()
{
   constexpr float infinity = std::numeric_limits<float>::infinity();
   const float numbers[] = {infinity, -infinity, std::nanf(""), 1e30f,
                            -1e30f,   1e9f,      -3e38f,        1e-40f};
   return numbers[random() % std::size(numbers)];
}

float SamplingTest::random_coordinate()
{
   const float unit = float(random() % (1 << 20)) / (1 << 20);
   switch (random() % 8) {
   case 0:
      return float(int(random() % 33) - 16) / 16; // the edges of texels and of the image
   case 1:
      return (unit - 0.5f) * 2000;
   case 2:
   case 3:
      return unit * 4 - 1.5f;
   default:
      return unit;
   }
}

/// Lengths of a part of a texel to a few images, with ratios to 32; some are zero or special.
void SamplingTest::make_gradients(const SampledKind &kind, const oracle::SampledTexels &texels,
                                  float *x, float *y)
{
   const float length = std::exp2(float(int(random() % 160) - 32) / 16);
   const float ratio = std::exp2(float(int(random() % 161) - 80) / 16);
   for (int d = 0; d < (kind.is_cube ? 3 : kind.dimensions); ++d) {
      const float size = float(texels.levels[0][kind.is_cube ? 0 : d]);
      const auto part = [&] {
         return (float(random() % (1 << 16)) / (1 << 15) - 1) * length / size;
      };
      x[d] = part();
      y[d] = part() * ratio;
      if (random() % 32 == 0)
         (random() % 2 ? x : y)[d] = random() % 4 ? 0 : special_number();
   }
   if (random() % 16 == 0)
      std::fill_n(random() % 2 ? x : y, 3, 0.0f);
}

void SamplingTest::write_sampled(VkDescriptorSet set, uint32_t binding, VkDescriptorType type,
                                 VkImageView view, VkSampler sampler, uint32_t element)
{
   vulkan::write_descriptor(device, set, binding, type,
                            {.image = {sampler, view, VK_IMAGE_LAYOUT_GENERAL}}, element);
}

void SamplingTest::check(const SampledKind &kind, const SampledFunction &function,
                         const std::vector<Format> &formats, unsigned rounds)
{
   constexpr VkDescriptorType combined = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   PipelineRecipe recipe;
   recipe.sets = {
      make_set_layout({binding(0, combined), binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER),
                       binding(2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   VkPipelineLayout layout = make_layout(recipe);
   const std::string prefix = formats[0].prefix();
   VkPipeline pipeline =
      make_pipeline("#extension GL_ARB_sparse_texture2 : enable\n"
                    "layout(local_size_x = 64) in;\n"
                    "layout(binding = 0) uniform " +
                       prefix + "sampler" + kind.type + (function.compares ? "Shadow" : "") +
                       " image;\n" + function.head +
                       "struct Operands { vec4 at, more, dx, dy; };\n"
                       "layout(binding = 1) buffer In { Operands operands[]; };\n"
                       "layout(binding = 2) buffer Out { vec4 results[]; };\n"
                       "void main()\n"
                       "{\n"
                       "   const uint i = gl_GlobalInvocationID.x;\n"
                       "   const vec4 at = operands[i].at, more = operands[i].more;\n"
                       "   const vec4 dx = operands[i].dx, dy = operands[i].dy;\n"
                       "   results[i] = vec4(" +
                       function.expression + ");\n}",
                    recipe, layout);
   VkDescriptorSet set = make_set(recipe.sets[0]);
   TestBuffer in = make_buffer(lookups * sizeof(Operands)), out = make_buffer(lookups * 16);
   write_buffer(set, 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, in);
   write_buffer(set, 2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
   for (unsigned round = 0; round < rounds; ++round) {
      const Format &format = formats[round % formats.size()];
      const bool is_float = format.is_compressed() || !format.layout().is_integer();
      const SampledContents contents =
         make_contents(kind, format, !function.compares && !function.is_plain, !function.is_plain);
      VkBorderColor border;
      oracle::SamplerState state = random_state(is_float, &border);
      if (function.compares)
         state.compare = oracle::Compare(random() % 8);
      if (function.unnormalized)
         use_texels(&state);
      state.single_faces = kind.is_cube && random() % 3 == 0;
      if (function.is_plain) {
         state.minified_linear = state.magnified_linear;
         state.reduce = oracle::Reduce::average;
         for (oracle::Wrap &wrap : state.wrap)
            wrap = random() % 2 ? oracle::Wrap::repeat : oracle::Wrap::edge;
      }
      if (function.has_gradients && is_float)
         state.anisotropy = std::array{1.0f, 1.5f, 2.0f, 4.0f, 7.25f, 16.0f}[random() % 6];
      write_sampled(set, 0, combined, contents.view, make_sampler(state, border));
      // A component that the format lacks has no border.
      for (int c = 0; c < 4; ++c) {
         if (!format.has("RGBA"[c]))
            state.border[c] = c == 3;
      }
      state.border = swizzled(state.border, contents.swizzle);
      std::vector<oracle::Sample> samples;
      for (Operands &o : in.as<Operands>()) {
         for (float &x : o.at)
            x = random_coordinate() * (function.unnormalized ? 16 : 1);
         if (kind.is_cube) {
            for (int d = 0; d < 3; ++d)
               o.at[d] = float(int(random() % 2001) - 1000) / float(1 + random() % 700);
         }
         o.at[3] = float(random() % 5) + float(random() % 8) / 8 - 1.25f;
         o.more[0] = float(int(random() % 160) - 48) / 16;
         if (random() % 16 == 0)
            *(std::array{o.at, o.at + 1, o.at + 2, o.at + 3, o.more}[random() % 5]) =
               special_number();
         if (kind.is_cube && random() % 64 == 0)
            o.at[0] = o.at[1] = o.at[2] = 0;
         o.more[1] = float(random() % 33) / 16 - 0.5f;
         if (function.has_gradients)
            make_gradients(kind, contents.texels, o.dx, o.dy);
         oracle::Sample s = {.at = {o.at[0], o.at[1], o.at[2]},
                             .layer = o.at[3],
                             .lod = function.has_lod ? o.more[0] : 0,
                             .reference = o.more[1],
                             .offset = function.offset,
                             .gathered = function.gathered};
         if (function.has_gradients)
            s.gradients =
               oracle::Gradients{{o.dx[0], o.dx[1], o.dx[2]}, {o.dy[0], o.dy[1], o.dy[2]}};
         samples.push_back(s);
      }
      VkCommandBuffer cmd = begin();
      vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
      vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, nullptr);
      vkCmdDispatch(cmd, lookups / 64, 1, 1);
      run(cmd);
      const double most =
         std::max(oracle::largest_color(contents.texels, state), 1.0) * (1 + std::ldexp(1, -18)) +
         contents.texels.error;
      for (uint32_t i = 0; i < lookups; ++i) {
         oracle::Color result;
         for (int c = 0; c < 4; ++c)
            result[c] = out.as<float>()[i * 4 + c];
         const oracle::Sample &s = samples[i];
         const auto is_moderate = [](double x) { return std::abs(x) < 1e6; };
         const auto used = std::span(s.at).first(kind.is_cube ? 3 : kind.dimensions);
         const bool is_point = kind.is_cube && s.at == std::array<double, 3>{};
         const bool is_finite =
            std::ranges::all_of(used, is_moderate) && is_moderate(s.lod) && is_moderate(s.layer) &&
            !is_point &&
            (!s.gradients || (std::ranges::all_of(s.gradients->x, is_moderate) &&
                              std::ranges::all_of(s.gradients->y, is_moderate)));
         const int components = function.compares && !function.gathered ? 1 : 4;
         const auto describe = [&] {
            std::ostringstream text;
            text << kind.type << " " << function.expression << ", " << format.name << ", round "
                 << round << ", " << i << "\nat " << s.at[0] << ", " << s.at[1] << ", " << s.at[2]
                 << ", layer " << s.layer << ", lod " << s.lod << ", reference " << s.reference;
            if (s.gradients) {
               for (const auto &gradient : {s.gradients->x, s.gradients->y})
                  text << ", gradient " << gradient[0] << ", " << gradient[1] << ", "
                       << gradient[2];
            }
            text << "\nwrap " << int(state.wrap[0]) << int(state.wrap[1]) << int(state.wrap[2])
                 << ", linear " << state.magnified_linear << state.minified_linear
                 << state.levels_linear << ", reduce " << int(state.reduce) << ", anisotropy "
                 << state.anisotropy << ", bias " << state.bias << ", lods " << state.least_lod
                 << " to " << state.largest_lod << ", size " << contents.texels.levels[0][0] << "x"
                 << contents.texels.levels[0][1] << "x" << contents.texels.levels[0][2]
                 << ", levels " << contents.texels.levels.size() << "\nresult " << result[0] << ", "
                 << result[1] << ", " << result[2] << ", " << result[3];
            return text.str();
         };
         if (!is_finite) {
            // Some texel, or the border.
            for (int c = 0; c < components; ++c)
               ASSERT_LE(std::abs(result[c]), most) << describe();
            continue;
         }
         const oracle::Color expected = oracle::sample(contents.texels, state, s);
         ASSERT_TRUE(oracle::may_sample(contents.texels, state, s, result, components))
            << describe() << "\nexpected " << expected[0] << ", " << expected[1] << ", "
            << expected[2] << ", " << expected[3];
      }
   }
}

} // namespace weft::icd_test
