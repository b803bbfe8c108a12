// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Blits, with WEFT_QUEUE=graphics: random regions, scaled and mirrored, compared with the oracle.
/// Texels beside the regions keep their random bytes.

#include "tests/icd/sampling_fixture.h"
#include "tests/oracle/blit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::icd_test {

namespace {

#define FORMAT(name) VK_FORMAT_##name, #name

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr VkFormatFeatureFlags source_bit = VK_FORMAT_FEATURE_BLIT_SRC_BIT,
                               target_bit = VK_FORMAT_FEATURE_BLIT_DST_BIT;

const std::vector<Format> target_formats = {
   {FORMAT(R8G8B8A8_UNORM)},      {FORMAT(B8G8R8A8_SNORM)}, {FORMAT(R8G8B8A8_SRGB)},
   {FORMAT(R32G32B32A32_SFLOAT)}, {FORMAT(R16G16_SFLOAT)},  {FORMAT(B10G11R11_UFLOAT_PACK32)},
   {FORMAT(R5G6B5_UNORM_PACK16)}, {FORMAT(R8_UNORM)},       {FORMAT(R16G16B16A16_UNORM)},
   {FORMAT(R16_SNORM)},           {FORMAT(R32_SFLOAT)},     {FORMAT(A2R10G10B10_UNORM_PACK32)},
   {FORMAT(R16G16B16A16_SFLOAT)},
};

/// A level of an image with its bytes.
struct Level {
   uint32_t number;
   VkExtent3D extent;
   TestBuffer bytes;
};

} // namespace

class BlitTest : public SamplingTest {
protected:
   uint32_t below(uint32_t end) { return uint32_t(random() % end); }

   VkFormatFeatureFlags features(VkFormat format)
   {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, format, &properties);
      return properties.optimalTilingFeatures;
   }

   TestImage random_image(const Format &format, VkImageType type, uint32_t layers)
   {
      const bool is_3d = type == VK_IMAGE_TYPE_3D;
      ImageRecipe recipe = {
         .format = format.format,
         .type = type,
         .extent = {1 + below(90), type == VK_IMAGE_TYPE_1D ? 1 : 1 + below(20),
                    is_3d ? 1 + below(6) : 1},
         .layers = layers,
         .usage = VK_IMAGE_USAGE_SAMPLED_BIT,
      };
      const uint32_t largest =
         std::max({recipe.extent.width, recipe.extent.height, recipe.extent.depth});
      recipe.levels = largest > 3 ? 1 + below(2) : 1;
      return make_image(recipe);
   }

   Level random_level(const TestImage &image, const Format &format)
   {
      const uint32_t number = below(image.recipe.levels);
      const VkExtent3D extent = image.extent(number);
      const Level level = {
         number, extent,
         make_texels(format, LevelTexels(format, extent, image.recipe.layers).bytes())};
      fill(image, level.bytes, number);
      return level;
   }

   /// A part of a level, or all of it, mirrored or not.
   void random_ends(uint32_t size, int *begin, int *end, bool may_mirror)
   {
      *begin = below(2) ? int(below(size)) : 0;
      *end = below(2) ? *begin + 1 + int(below(size - uint32_t(*begin))) : int(size);
      if (may_mirror && below(3) == 0)
         std::swap(*begin, *end);
   }

   oracle::BlitAxis random_axis(uint32_t from_size, uint32_t to_size, bool may_mirror)
   {
      oracle::BlitAxis axis;
      random_ends(from_size, &axis.from_begin, &axis.from_end, may_mirror);
      random_ends(to_size, &axis.to_begin, &axis.to_end, may_mirror);
      axis.size = int(from_size);
      return axis;
   }

   void blit(const TestImage &from, const TestImage &to, const VkImageBlit &region, VkFilter filter)
   {
      VkCommandBuffer cmd = begin();
      vkCmdBlitImage(cmd, from.handle, general, to.handle, general, 1, &region, filter);
      run(cmd);
   }

   struct Region {
      VkImageBlit blit;
      oracle::BlitAxes axes; ///< z: the slices, of a volume or of layers
   };
   Region random_region(const TestImage &from, const Level &from_level, const TestImage &to,
                        const Level &to_level)
   {
      const auto is_1d = [](const TestImage &i) { return i.recipe.type == VK_IMAGE_TYPE_1D; };
      const auto is_3d = [](const TestImage &i) { return i.recipe.type == VK_IMAGE_TYPE_3D; };
      const VkExtent3D &from_size = from_level.extent, &to_size = to_level.extent;
      Region r = {};
      // The ends of an absent direction are 0 and 1.
      r.axes[0] = random_axis(from_size.width, to_size.width, true);
      r.axes[1] = random_axis(from_size.height, to_size.height, !is_1d(from) && !is_1d(to));
      r.axes[2] = random_axis(from_size.depth, to_size.depth, is_3d(from) && is_3d(to));
      const auto &[x, y, z] = r.axes;
      r.blit = {
         .srcSubresource = {aspect_of(from.recipe.format), from_level.number, 0, 1},
         .srcOffsets = {{x.from_begin, y.from_begin, z.from_begin},
                        {x.from_end, y.from_end, z.from_end}},
         .dstSubresource = {aspect_of(to.recipe.format), to_level.number, 0, 1},
         .dstOffsets = {{x.to_begin, y.to_begin, z.to_begin}, {x.to_end, y.to_end, z.to_end}},
      };
      // One slice of a volume is blitted to or from one layer (VK_KHR_maintenance8).
      if (is_3d(from) && !is_3d(to)) {
         const uint32_t layer = below(to.recipe.layers), slice = below(from_size.depth);
         r.blit.dstSubresource.baseArrayLayer = layer;
         r.blit.srcOffsets[0].z = int(slice);
         r.blit.srcOffsets[1].z = int(slice + 1);
         r.axes[2] = {int(slice), int(slice + 1), int(layer), int(layer + 1), int(from_size.depth)};
      }
      if (!is_3d(from) && is_3d(to)) {
         const uint32_t layer = below(from.recipe.layers), slice = below(to_size.depth);
         r.blit.srcSubresource.baseArrayLayer = layer;
         r.blit.dstOffsets[0].z = int(slice);
         r.blit.dstOffsets[1].z = int(slice + 1);
         r.axes[2] = {int(layer), int(layer + 1), int(slice), int(slice + 1),
                      int(from.recipe.layers)};
      }
      if (!is_3d(from) && !is_3d(to)) {
         const uint32_t least = std::min(from.recipe.layers, to.recipe.layers),
                        count = 1 + below(least), first = below(from.recipe.layers - count + 1),
                        to_first = below(to.recipe.layers - count + 1);
         r.blit.srcSubresource.baseArrayLayer = first;
         r.blit.dstSubresource.baseArrayLayer = to_first;
         r.blit.srcSubresource.layerCount = r.blit.dstSubresource.layerCount = count;
         r.axes[2] = {int(first), int(first + count), int(to_first), int(to_first + count),
                      int(from.recipe.layers)};
      }
      return r;
   }

   /// `is_filtered` is false for formats without filters.
   void check(const Format &from_format, const Format &to_format, bool is_filtered)
   {
      constexpr VkImageType types[] = {VK_IMAGE_TYPE_1D, VK_IMAGE_TYPE_2D, VK_IMAGE_TYPE_2D,
                                       VK_IMAGE_TYPE_3D};
      const VkImageType from_type =
                           from_format.is_compressed() ? types[1 + below(3)] : types[below(4)],
                        to_type = types[below(4)];
      const auto layers = [&](VkImageType type) {
         return type == VK_IMAGE_TYPE_3D ? 1 : 1 + below(3);
      };
      const TestImage from = random_image(from_format, from_type, layers(from_type)),
                      to = random_image(to_format, to_type, layers(to_type));
      const Level from_level = random_level(from, from_format),
                  to_level = random_level(to, to_format);
      const Region region = random_region(from, from_level, to, to_level);
      const bool is_linear = is_filtered && below(2);
      blit(from, to, region.blit, is_linear ? VK_FILTER_LINEAR : VK_FILTER_NEAREST);
      const TestBuffer after = make_buffer(to_level.bytes.size);
      memset(after.map, 0xa5, after.size);
      read_back(to, after, to_level.number);

      const LevelTexels texels(from_format, from_level.extent, from.recipe.layers);
      const auto texel = [&](int x, int y, int z) {
         return texels.numbers(from_level.bytes.as<std::byte>(), x, y, z);
      };
      const oracle::TexelLayout layout = to_format.layout();
      const auto new_bytes = after.as<std::byte>(), old_bytes = to_level.bytes.as<std::byte>();
      for (uint32_t i = 0; i < after.size / layout.bytes; ++i) {
         const uint32_t width = to_level.extent.width, height = to_level.extent.height;
         const std::array<int, 3> at = {int(i % width), int(i / width % height),
                                        int(i / width / height)};
         const auto result = new_bytes.subspan(i * layout.bytes, layout.bytes),
                    before = old_bytes.subspan(i * layout.bytes, layout.bytes);
         const auto &[x, y, z] = region.axes;
         if (!x.has(at[0]) || !y.has(at[1]) || !z.has(at[2])) {
            ASSERT_TRUE(std::ranges::equal(result, before)) << "beside the region: " << i;
            continue;
         }
         double largest = 0;
         const oracle::Color color =
            oracle::blit_color(region.axes, at, is_linear, [&](int tx, int ty, int tz) {
               const oracle::Color c = texel(tx, ty, tz);
               for (double number : c)
                  largest = std::max(largest, std::abs(number));
               return c;
            });
         const double error =
            layout.is_integer() ? 0 : oracle::blit_error(largest) + texels.error();
         for (int c = 0; c < 4; ++c)
            ASSERT_TRUE(
               oracle::holds_number(layout, result, "RGBA"[c], color[c] - error, color[c] + error))
               << from_format.name << " to " << to_format.name << (is_linear ? ", linear" : "")
               << ", texel " << at[0] << ", " << at[1] << ", " << at[2] << ", component " << c
               << ": " << oracle::texel_value(layout, result, "RGBA"[c]) << " instead of "
               << color[c];
      }
   }
};

TEST_F(BlitTest, Colors)
{
   std::vector<Format> sources = filtered_formats();
   sources.insert(sources.end(), compressed_formats().begin(), compressed_formats().end());
   for (int round = 0; round < 2; ++round) {
      for (const Format &from : sources) {
         for (const Format &to : target_formats) {
            ASSERT_TRUE(features(from.format) & source_bit) << from.name;
            ASSERT_TRUE(features(to.format) & target_bit) << to.name;
            check(from, to, true);
            if (HasFatalFailure())
               return;
         }
      }
   }
}

/// Numbers that the format cannot hold become its least or largest ones.
TEST_F(BlitTest, Integers)
{
   const std::vector<Format> kinds[] = {
      {{FORMAT(R8G8B8A8_UINT)},
       {FORMAT(R32G32_UINT)},
       {FORMAT(R16_UINT)},
       {FORMAT(A2B10G10R10_UINT_PACK32)}},
      {{FORMAT(R8G8B8A8_SINT)}, {FORMAT(R32G32B32A32_SINT)}, {FORMAT(R16G16_SINT)}},
   };
   for (const std::vector<Format> &formats : kinds) {
      for (int round = 0; round < 6; ++round) {
         for (const Format &from : formats) {
            for (const Format &to : formats) {
               check(from, to, false);
               if (HasFatalFailure())
                  return;
            }
         }
      }
   }
}

/// The formats of texel buffers, too: each reported feature works.
TEST_F(BlitTest, EachFormat)
{
   unsigned sources = 0, targets = 0;
   for (const Format &format : texel_formats()) {
      const VkFormatFeatureFlags f = features(format.format);
      EXPECT_EQ(!(f & VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT), !(f & source_bit)) << format.name;
      EXPECT_EQ(!(f & VK_FORMAT_FEATURE_COLOR_ATTACHMENT_BIT), !(f & target_bit)) << format.name;
      const oracle::TexelLayout layout = format.layout();
      const bool is_signed = layout.kind == oracle::TexelKind::sint;
      const Format integers = is_signed ? Format{FORMAT(R32G32B32A32_SINT)}
                                        : Format{FORMAT(R32G32B32A32_UINT)},
                   floats = {FORMAT(R32G32B32A32_SFLOAT)},
                   &other = layout.is_integer() ? integers : floats;
      for (int round = 0; round < 3; ++round) {
         if (f & source_bit) {
            check(format, other, f & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT);
            ++sources;
         }
         if (f & target_bit) {
            check(other, format, !layout.is_integer());
            ++targets;
         }
         if (HasFatalFailure())
            return;
      }
   }
   EXPECT_GE(sources, 180u);
   EXPECT_GE(targets, 150u);
}

/// Both aspects at once; their numbers are moved as they are.
TEST_F(BlitTest, DepthsAndStencils)
{
   constexpr uint32_t width = 12, height = 10;
   constexpr VkImageAspectFlags both = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
   const auto make = [&] {
      return make_image({.format = VK_FORMAT_D32_SFLOAT_S8_UINT,
                         .extent = {width, height, 1},
                         .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT});
   };
   const TestImage from = make(), to = make();
   for (const auto &[aspect, bytes] :
        {std::pair<VkImageAspectFlags, uint32_t>{VK_IMAGE_ASPECT_DEPTH_BIT, 4},
         {VK_IMAGE_ASPECT_STENCIL_BIT, 1}}) {
      const TestBuffer before = make_random_buffer(width * height * bytes),
                       after = make_buffer(width * height * bytes);
      const VkBufferImageCopy all = {.imageSubresource = {aspect, 0, 0, 1},
                                     .imageExtent = {width, height, 1}};
      // Twice the width, mirrored from top to bottom.
      const VkImageBlit region = {
         .srcSubresource = {both, 0, 0, 1},
         .srcOffsets = {{2, 0, 0}, {8, height, 1}},
         .dstSubresource = {both, 0, 0, 1},
         .dstOffsets = {{0, height, 0}, {width, 0, 1}},
      };
      VkCommandBuffer cmd = begin();
      vkCmdCopyBufferToImage(cmd, before.handle, from.handle, general, 1, &all);
      vkCmdBlitImage(cmd, from.handle, general, to.handle, general, 1, &region, VK_FILTER_NEAREST);
      vkCmdCopyImageToBuffer(cmd, to.handle, general, after.handle, 1, &all);
      run(cmd);
      for (uint32_t i = 0; i < width * height; ++i) {
         const uint32_t source = (height - 1 - i / width) * width + 2 + i % width / 2;
         ASSERT_EQ(memcmp(after.map + i * bytes, before.map + source * bytes, bytes), 0) << i;
      }
   }
}

} // namespace weft::icd_test
