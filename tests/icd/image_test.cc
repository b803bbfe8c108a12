// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Storage images of each dimension and format in shaders.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <bit>

namespace weft::icd_test {

namespace {

struct Shape {
   const char *name; ///< GLSL's, without its prefix
   VkImageViewType view;
   VkImageType type;
   VkExtent3D extent;
   uint32_t layers;
   const char *coordinates; ///< of (x, y, z)
   const char *size;        ///< of the shader's imageSize(), as ivec3

   uint32_t slices() const { return std::max(extent.depth, layers); }
   uint32_t texels() const { return extent.width * extent.height * slices(); }
};

const Shape shapes[] = {
   {"image1D",
    VK_IMAGE_VIEW_TYPE_1D,
    VK_IMAGE_TYPE_1D,
    {37, 1, 1},
    1,
    "p.x",
    "ivec3(imageSize(to), 1, 1)"},
   {"image1DArray",
    VK_IMAGE_VIEW_TYPE_1D_ARRAY,
    VK_IMAGE_TYPE_1D,
    {37, 1, 1},
    5,
    "p.xz",
    "ivec3(imageSize(to).x, 1, imageSize(to).y)"},
   {"image2D",
    VK_IMAGE_VIEW_TYPE_2D,
    VK_IMAGE_TYPE_2D,
    {37, 11, 1},
    1,
    "p.xy",
    "ivec3(imageSize(to), 1)"},
   {"image2DArray",
    VK_IMAGE_VIEW_TYPE_2D_ARRAY,
    VK_IMAGE_TYPE_2D,
    {37, 11, 1},
    3,
    "p",
    "imageSize(to)"},
   {"image3D", VK_IMAGE_VIEW_TYPE_3D, VK_IMAGE_TYPE_3D, {37, 11, 7}, 1, "p", "imageSize(to)"},
   {"imageCube",
    VK_IMAGE_VIEW_TYPE_CUBE,
    VK_IMAGE_TYPE_2D,
    {13, 13, 1},
    6,
    "p",
    "ivec3(imageSize(to), 6)"},
   {"imageCubeArray",
    VK_IMAGE_VIEW_TYPE_CUBE_ARRAY,
    VK_IMAGE_TYPE_2D,
    {13, 13, 1},
    12,
    "p",
    "imageSize(to) * ivec3(1, 1, 6)"},
};

} // namespace

/// Each texel moves to the opposite place; invocations beyond the image do nothing.
TEST_F(ImageTest, EachDimension)
{
   for (const Shape &shape : shapes) {
      const ImageRecipe recipe = {
         .format = VK_FORMAT_R32_UINT,
         .type = shape.type,
         .extent = shape.extent,
         .layers = shape.layers,
         .flags = shape.extent.width == shape.extent.height
                     ? uint32_t(VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT)
                     : 0,
      };
      const TestImage from = make_image(recipe), to = make_image(recipe);
      TestBuffer before = make_random_buffer(shape.texels() * 4),
                 after = make_buffer(shape.texels() * 4), sizes = make_buffer(16);
      fill(from, before);
      const std::string type = std::string("uniform u") + shape.name;
      run_shader("layout(local_size_x = 8, local_size_y = 8) in;\n"
                 "layout(binding = 0, r32ui) readonly " +
                    type + " from;\nlayout(binding = 1, r32ui) writeonly " + type +
                    " to;\n"
                    "layout(binding = 2) buffer Out { ivec3 size; };\n"
                    "uvec4 load(ivec3 p) { return imageLoad(from, " +
                    shape.coordinates +
                    "); }\n"
                    "void store(ivec3 p, uvec4 texel) { imageStore(to, " +
                    shape.coordinates +
                    ", texel); }\n"
                    "void main()\n"
                    "{\n"
                    "   ivec3 p = ivec3(gl_GlobalInvocationID), s = " +
                    shape.size +
                    ";\n"
                    "   size = s;\n"
                    "   store(s - 1 - p, load(p));\n"
                    "}",
                 {make_image_view(from, shape.view, 0, 0, shape.layers),
                  make_image_view(to, shape.view, 0, 0, shape.layers)},
                 {sizes},
                 {shape.extent.width / 8 + 1, shape.extent.height / 8 + 1, shape.slices() + 1});
      EXPECT_EQ(sizes.as()[0], shape.extent.width) << shape.name;
      EXPECT_EQ(sizes.as()[1], shape.extent.height) << shape.name;
      EXPECT_EQ(sizes.as()[2], shape.slices()) << shape.name;
      read_back(to, after);
      for (uint32_t i = 0; i < shape.texels(); ++i)
         ASSERT_EQ(after.as()[shape.texels() - 1 - i], before.as()[i]) << shape.name << ", " << i;
   }
}

/// Loads and stores without a declared format.
TEST_F(ImageTest, EachFormat)
{
   constexpr VkExtent3D extent = {45, 6, 1};
   constexpr uint32_t texels = extent.width * extent.height;
   for (const Format &format : texel_formats()) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, format.format, &properties);
      EXPECT_EQ(properties.linearTilingFeatures, properties.optimalTilingFeatures);
      if (!(properties.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT))
         continue;
      const oracle::TexelLayout layout = format.layout();
      const TestImage from = make_image({.format = format.format, .extent = extent}),
                      to = make_image({.format = format.format, .extent = extent});
      TestBuffer before = make_random_buffer(texels * layout.bytes),
                 after = make_buffer(texels * layout.bytes), loaded = make_buffer(texels * 16),
                 colors = make_random_buffer(texels * 16);
      fill(from, before);
      const std::string prefix = format.prefix();
      run_shader(
         "#extension GL_EXT_shader_image_load_formatted : require\n"
         "layout(local_size_x = 45) in;\n"
         "layout(binding = 0) readonly uniform " +
            prefix + "image2D from;\nlayout(binding = 1) writeonly uniform " + prefix +
            "image2D to;\n"
            "layout(binding = 2) buffer Out { " +
            prefix + "vec4 loaded[]; };\nlayout(binding = 3) buffer In { " + prefix +
            "vec4 colors[]; };\n"
            "void main()\n"
            "{\n"
            "   ivec2 p = ivec2(gl_GlobalInvocationID.xy);\n"
            "   loaded[p.y * 45 + p.x] = imageLoad(from, p);\n"
            "   imageStore(to, p, colors[p.y * 45 + p.x]);\n"
            "}",
         {make_image_view(from, VK_IMAGE_VIEW_TYPE_2D), make_image_view(to, VK_IMAGE_VIEW_TYPE_2D)},
         {loaded, colors}, {1, extent.height, 1});
      read_back(to, after);
      for (uint32_t i = 0; i < texels; ++i) {
         const auto texel_of = [&](const TestBuffer &buffer) {
            return buffer.as<std::byte>().subspan(i * layout.bytes, layout.bytes);
         };
         for (uint32_t c = 0; c < 4; ++c) {
            ASSERT_TRUE(
               oracle::reads_as(layout, texel_of(before), "RGBA"[c], loaded.as()[4 * i + c]))
               << format.name << ", " << i;
            ASSERT_TRUE(
               oracle::stored_as(layout, texel_of(after), "RGBA"[c], colors.as()[4 * i + c]))
               << format.name << ", " << i;
         }
      }
   }
}

/// The view has two of three layers, so that memory behind rows, layers and the view holds texels.
TEST_F(ImageTest, OutOfBounds)
{
   const TestImage image = make_image({.extent = {5, 5, 1}, .layers = 3});
   TestBuffer ones = make_buffer(300), loaded = make_buffer(64 * 4);
   std::ranges::fill(ones.as(), 1u);
   fill(image, ones);
   run_shader(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0, r32ui) uniform uimage2DArray image;
      layout(binding = 1) buffer Out { uint loaded[]; };
      void main()
      {
         int i = int(gl_LocalInvocationID.x);
         ivec3 places[8] = { ivec3(5, 0, 0), ivec3(0, 5, 0), ivec3(-1, 1, 1), ivec3(1, -1, 1),
                             ivec3(0x40000000, 0, 0), ivec3(0, 0, 2), ivec3(4, 2, -1),
                             ivec3(4, 4, 1) };
         loaded[i] = imageLoad(image, places[i % 8]).x;
         if (i % 8 != 7) imageStore(image, places[i % 8], uvec4(9));
         imageAtomicAdd(image, places[i % 7], 1u);
      })",
              {make_image_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 0, 0, 2)}, {loaded});
   for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(loaded.as()[i], i % 8 == 7) << i;
   TestBuffer after = make_buffer(300);
   read_back(image, after);
   for (uint32_t texel : after.as())
      EXPECT_EQ(texel, 1u);
}

TEST_F(ImageTest, FloatAtomics)
{
   const TestImage image = make_image({.format = VK_FORMAT_R32_SFLOAT, .extent = {4, 2, 1}});
   const float start[8] = {0, 100, -100, 0, 0, 0, 0, 0};
   TestBuffer before = make_buffer(32, start), after = make_buffer(32);
   fill(image, before);
   run_shader(R"(
      #extension GL_EXT_shader_atomic_float : require
      #extension GL_EXT_shader_atomic_float2 : require
      layout(local_size_x = 64) in;
      layout(binding = 0, r32f) uniform image2D image;
      void main()
      {
         float x = float(gl_GlobalInvocationID.x) - 10;
         imageAtomicAdd(image, ivec2(0, 0), x);
         imageAtomicMin(image, ivec2(1, 0), x);
         imageAtomicMax(image, ivec2(2, 0), x);
         imageAtomicExchange(image, ivec2(3, 1), 5.0);
      })",
              {make_image_view(image, VK_IMAGE_VIEW_TYPE_2D)}, {});
   read_back(image, after);
   const float expected[8] = {64 * 63 / 2 - 640, -10, 53, 0, 0, 0, 0, 5};
   for (uint32_t i = 0; i < 8; ++i)
      EXPECT_EQ(after.as<float>()[i], expected[i]) << i;
}

TEST_F(ImageTest, ViewsOfLevelsAndLayers)
{
   const TestImage image = make_image({.extent = {20, 12, 1}, .levels = 3, .layers = 5});
   for (uint32_t level = 0; level < 3; ++level) {
      TestBuffer before = make_buffer(20 * 12 * 5 * 4);
      std::ranges::fill(before.as(), 100 + level);
      fill(image, before, level);
   }
   // Layers 2 and 3 of level 1, which is 10 x 6.
   run_shader(R"(
      layout(local_size_x = 16, local_size_y = 8) in;
      layout(binding = 0, r32ui) uniform uimage2DArray image;
      void main()
      {
         ivec3 p = ivec3(gl_GlobalInvocationID);
         imageStore(image, p, uvec4(1 + p.x + 16 * p.y + 256 * p.z));
      })",
              {make_image_view(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 1, 2, 2)}, {}, {2, 2, 3});
   for (uint32_t level = 0; level < 3; ++level) {
      const VkExtent3D extent = image.extent(level);
      TestBuffer after = make_buffer(20 * 12 * 5 * 4);
      read_back(image, after, level);
      uint32_t i = 0;
      for (uint32_t layer = 0; layer < 5; ++layer) {
         for (uint32_t y = 0; y < extent.height; ++y) {
            for (uint32_t x = 0; x < extent.width; ++x, ++i) {
               const bool stored = level == 1 && (layer == 2 || layer == 3);
               ASSERT_EQ(after.as()[i], stored ? 1 + x + 16 * y + 256 * (layer - 2) : 100 + level)
                  << level << ", " << layer << ", " << y << ", " << x;
            }
         }
      }
   }
}

/// VK_EXT_image_2d_view_of_3d: a slice of a level is an image of its own.
TEST_F(ImageTest, SlicesAsTwoDimensions)
{
   constexpr uint32_t width = 11, height = 6, depth = 5, words = width * height * depth;
   const TestImage image = make_image({.type = VK_IMAGE_TYPE_3D,
                                       .extent = {2 * width, 2 * height, 2 * depth},
                                       .levels = 2,
                                       .flags = VK_IMAGE_CREATE_2D_VIEW_COMPATIBLE_BIT_EXT});
   const TestBuffer before = make_random_buffer(words * 4), after = make_buffer(words * 4);
   fill(image, before, 1);
   run_shader(R"(
      layout(local_size_x = 16, local_size_y = 8) in;
      layout(binding = 0, r32ui) readonly uniform uimage2D from;
      layout(binding = 1, r32ui) writeonly uniform uimage2D to;
      void main()
      {
         ivec2 p = ivec2(gl_GlobalInvocationID.xy);
         imageStore(to, p, imageLoad(from, p) + imageSize(to).x);
      })",
              {make_image_view(image, VK_IMAGE_VIEW_TYPE_2D, 1, 1),
               make_image_view(image, VK_IMAGE_VIEW_TYPE_2D, 1, 3)},
              {});
   read_back(image, after, 1);
   constexpr uint32_t slice = width * height;
   for (uint32_t i = 0; i < words; ++i) {
      const bool stored = i / slice == 3;
      ASSERT_EQ(after.as()[i], stored ? before.as()[i - 2 * slice] + width : before.as()[i]) << i;
   }
}

} // namespace weft::icd_test
