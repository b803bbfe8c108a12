// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images of several samples. Without draws, no command writes single samples, so the tests write
/// and read the image's memory: each sample of a layer is a slice, in order.

#include "tests/icd/sampling_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::icd_test {

namespace {

constexpr VkImageLayout general = VK_IMAGE_LAYOUT_GENERAL;
constexpr uint32_t width = 7, height = 5, layers = 3, texels = width * height;

} // namespace

class SampleCountTest : public SamplingTest, public testing::WithParamInterface<uint32_t> {
protected:
   const uint32_t samples = GetParam();

   /// An image with random bytes.
   TestImage make_samples(VkFormat format, VkImageUsageFlags usage = VK_IMAGE_USAGE_SAMPLED_BIT)
   {
      const TestImage image = make_image({.format = format,
                                          .extent = {width, height, 1},
                                          .layers = layers,
                                          .usage = usage,
                                          .samples = VkSampleCountFlagBits(samples)});
      std::ranges::generate(image.memory.as<uint8_t>(), [&] { return uint8_t(random()); });
      return image;
   }

   VkImageView view_of(const TestImage &image, VkImageViewType type, VkImageAspectFlags aspect,
                       uint32_t first_layer, uint32_t count)
   {
      const VkImageViewCreateInfo info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
         .image = image.handle,
         .viewType = type,
         .format = image.recipe.format,
         .subresourceRange = {aspect, 0, 1, first_layer, count},
      };
      VkImageView view = VK_NULL_HANDLE;
      EXPECT_VK(vkCreateImageView(device, &info, nullptr, &view));
      clean_up.push_back([this, view] { vkDestroyImageView(device, view, nullptr); });
      return view;
   }
};

TEST_P(SampleCountTest, LimitsAndCreation)
{
   constexpr VkSampleCountFlags expected = 0xf; // 1, 2, 4, 8
   VkPhysicalDeviceProperties properties;
   vkGetPhysicalDeviceProperties(physical, &properties);
   EXPECT_EQ(properties.limits.sampledImageColorSampleCounts, expected);
   EXPECT_EQ(properties.limits.sampledImageIntegerSampleCounts, expected);
   EXPECT_EQ(properties.limits.sampledImageDepthSampleCounts, expected);
   EXPECT_EQ(properties.limits.sampledImageStencilSampleCounts, expected);
   VkPhysicalDeviceFeatures features;
   vkGetPhysicalDeviceFeatures(physical, &features);
   EXPECT_EQ(properties.limits.storageImageSampleCounts,
             features.shaderStorageImageMultisample ? expected
                                                    : VkSampleCountFlags(VK_SAMPLE_COUNT_1_BIT));

   using Info = VkImageCreateInfo;
   const auto create = [&](auto change) {
      Info info = {
         .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
         .imageType = VK_IMAGE_TYPE_2D,
         .format = VK_FORMAT_R8G8B8A8_UNORM,
         .extent = {64, 64, 1},
         .mipLevels = 1,
         .arrayLayers = 6,
         .samples = VkSampleCountFlagBits(samples),
         .usage = VK_IMAGE_USAGE_SAMPLED_BIT,
      };
      change(info);
      VkImage image;
      const VkResult result = vkCreateImage(device, &info, nullptr, &image);
      VkMemoryRequirements needed = {};
      if (result == VK_SUCCESS) {
         vkGetImageMemoryRequirements(device, image, &needed);
         EXPECT_GE(needed.size, 64u * 64 * 4 * 6 * samples);
      }
      vkDestroyImage(device, image, nullptr);
      return result;
   };
   EXPECT_VK(create([](Info &) {}));
   EXPECT_EQ(create([](Info &i) { i.samples = VK_SAMPLE_COUNT_16_BIT; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.samples = VkSampleCountFlagBits(0); }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.mipLevels = 2; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.tiling = VK_IMAGE_TILING_LINEAR; }), VK_ERROR_UNKNOWN);
   EXPECT_VK(create([](Info &i) { i.usage = VK_IMAGE_USAGE_STORAGE_BIT; }));
   EXPECT_EQ(create([](Info &i) { i.flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT; }),
             VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.format = VK_FORMAT_BC1_RGB_UNORM_BLOCK; }), VK_ERROR_UNKNOWN);
   EXPECT_EQ(create([](Info &i) { i.extent.height = 1, i.imageType = VK_IMAGE_TYPE_1D; }),
             VK_ERROR_UNKNOWN);
}

/// All samples of the layers 1 and 2. Beyond the image, the view and the samples is a texel of
/// zeros.
TEST_P(SampleCountTest, Fetches)
{
   const Format formats[] = {
      {VK_FORMAT_R8G8B8A8_UNORM, "R8G8B8A8_UNORM"},
      {VK_FORMAT_R32G32B32A32_SFLOAT, "R32G32B32A32_SFLOAT"},
      {VK_FORMAT_R16G16_UINT, "R16G16_UINT"},
      {VK_FORMAT_R8_SINT, "R8_SINT"},
      {VK_FORMAT_D16_UNORM, "D16_UNORM"},
      {VK_FORMAT_D32_SFLOAT_S8_UINT, "R8_UINT"}, // the stencils
   };
   constexpr uint32_t columns = width + 2, rows = height + 2, slices = 4;
   const uint32_t numbers = samples + 2, reads = columns * rows * slices * numbers;
   for (const Format &format : formats) {
      const oracle::TexelLayout layout = format.layout();
      const bool is_stencil = format.format == VK_FORMAT_D32_SFLOAT_S8_UINT;
      const TestImage image = make_samples(format.format);
      const TestBuffer out = make_buffer(reads * 16);
      const std::string prefix = format.prefix();
      run_with("layout(local_size_x = 64) in;\n"
               "layout(binding = 0) uniform " +
                  prefix +
                  "texture2DMSArray image;\n"
                  "layout(binding = 1) buffer Out { " +
                  prefix +
                  "vec4 texels[]; };\n"
                  "void main()\n"
                  "{\n"
                  "   int i = int(gl_GlobalInvocationID.x);\n"
                  "   ivec4 p = ivec4(i % 9, i / 9 % 7, i / 63 % 4, i / 252) - 1;\n"
                  "   if (i < texels.length())\n"
                  "      texels[i] = texelFetch(image, p.xyz, p.w);\n"
                  "}",
               view_of(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY,
                       is_stencil ? VkImageAspectFlags(VK_IMAGE_ASPECT_STENCIL_BIT)
                                  : aspect_of(format.format),
                       1, 2),
               out, {(reads + 63) / 64, 1, 1});
      // Stencils are behind the depths, which have four bytes.
      const uint32_t begin = is_stencil ? (texels * layers * samples * 4 + 63) / 64 * 64 : 0;
      const std::vector<std::byte> zeros(16);
      for (uint32_t i = 0; i < reads; ++i) {
         const uint32_t x = i % columns - 1, y = i / columns % rows - 1,
                        slice = i / (columns * rows) % slices - 1,
                        sample = i / (columns * rows * slices) - 1;
         std::span<const std::byte> texel(zeros.data(), layout.bytes);
         if (x < width && y < height && slice < 2 && sample < samples) {
            const uint32_t number = ((slice + 1) * samples + sample) * texels + y * width + x;
            texel =
               image.memory.as<std::byte>().subspan(begin + number * layout.bytes, layout.bytes);
         }
         for (uint32_t c = 0; c < 4; ++c)
            ASSERT_TRUE(oracle::reads_as(layout, texel, "RGBA"[c], out.as()[4 * i + c]))
               << format.name << ", " << i;
      }
   }
}

TEST_P(SampleCountTest, Queries)
{
   const TestImage image = make_samples(VK_FORMAT_R8G8B8A8_UNORM);
   const std::string begin = "layout(local_size_x = 1) in;\n"
                             "layout(binding = 1) buffer Out { ivec4 size; vec4 texel; };\n"
                             "layout(binding = 0) uniform ",
                     last = std::to_string(samples - 1), array = begin + R"(texture2DMSArray image;
      void main()
      {
         size = ivec4(textureSize(image), textureSamples(image));
         texel = texelFetch(image, ivec3(1, 2, 0), )" + last + R"();
      })",
                     single = begin + R"(texture2DMS image;
      void main()
      {
         size = ivec4(textureSize(image), 1, textureSamples(image));
         texel = texelFetch(image, ivec2(1, 2), )" +
                              last + R"();
      })";
   const TestBuffer out = make_buffer(32);
   const VkImageAspectFlags color = VK_IMAGE_ASPECT_COLOR_BIT;
   const auto expect = [&](const std::array<uint32_t, 4> &size, uint32_t layer) {
      EXPECT_TRUE(std::ranges::equal(out.as().first(4), size));
      const uint8_t *texel =
         image.memory.map + ((layer * samples + samples - 1) * texels + 2 * width + 1) * 4;
      for (uint32_t c = 0; c < 4; ++c)
         EXPECT_FLOAT_EQ(out.as<float>()[4 + c], float(texel[c]) / 255);
   };
   run_with(array, view_of(image, VK_IMAGE_VIEW_TYPE_2D_ARRAY, color, 1, 2), out);
   expect({width, height, 2, samples}, 1);
   run_with(single, view_of(image, VK_IMAGE_VIEW_TYPE_2D, color, 2, 1), out);
   expect({width, height, 1, samples}, 2);
   memset(out.map, 0xa5, 32);
   run_with(array, VK_NULL_HANDLE, out);
   EXPECT_TRUE(std::ranges::all_of(out.as().first(4), [](uint32_t word) { return word == 0; }));
}

/// Loads and stores of all samples of the layers 1 and 2. Beyond the image, the view and the
/// samples is a texel of zeros, and stores change nothing.
TEST_P(SampleCountTest, LoadsAndStores)
{
   const Format formats[] = {
      {VK_FORMAT_R8G8B8A8_UNORM, "R8G8B8A8_UNORM"},
      {VK_FORMAT_R32G32B32A32_SFLOAT, "R32G32B32A32_SFLOAT"},
      {VK_FORMAT_R16G16_UINT, "R16G16_UINT"},
      {VK_FORMAT_R8_SINT, "R8_SINT"},
   };
   constexpr uint32_t columns = width + 2, rows = height + 2, slices = 4;
   const uint32_t numbers = samples + 2, accesses = columns * rows * slices * numbers;
   for (const Format &format : formats) {
      const oracle::TexelLayout layout = format.layout();
      const TestImage from = make_samples(format.format, VK_IMAGE_USAGE_STORAGE_BIT),
                      to = make_samples(format.format, VK_IMAGE_USAGE_STORAGE_BIT);
      const auto first = to.memory.as<std::byte>();
      const std::vector<std::byte> before(first.begin(), first.end());
      const TestBuffer loaded = make_buffer(accesses * 16),
                       colors = make_random_buffer(accesses * 16);
      const std::string prefix = format.prefix();
      run_shader("#extension GL_EXT_shader_image_load_formatted : require\n"
                 "layout(local_size_x = 64) in;\n"
                 "layout(binding = 0) readonly uniform " +
                    prefix + "image2DMSArray from;\nlayout(binding = 1) writeonly uniform " +
                    prefix + "image2DMSArray to;\nlayout(binding = 2) buffer Out { " + prefix +
                    "vec4 loaded[]; };\nlayout(binding = 3) buffer In { " + prefix +
                    "vec4 colors[]; };\n"
                    "void main()\n"
                    "{\n"
                    "   int i = int(gl_GlobalInvocationID.x);\n"
                    "   ivec4 p = ivec4(i % 9, i / 9 % 7, i / 63 % 4, i / 252) - 1;\n"
                    "   if (i < loaded.length()) {\n"
                    "      loaded[i] = imageLoad(from, p.xyz, p.w);\n"
                    "      imageStore(to, p.xyz, p.w, colors[i]);\n"
                    "   }\n"
                    "}",
                 {view_of(from, VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_ASPECT_COLOR_BIT, 1, 2),
                  view_of(to, VK_IMAGE_VIEW_TYPE_2D_ARRAY, VK_IMAGE_ASPECT_COLOR_BIT, 1, 2)},
                 {loaded, colors}, {(accesses + 63) / 64, 1, 1});
      const std::vector<std::byte> zeros(16);
      std::vector<bool> is_stored(layers * samples * texels);
      for (uint32_t i = 0; i < accesses; ++i) {
         const uint32_t x = i % columns - 1, y = i / columns % rows - 1,
                        slice = i / (columns * rows) % slices - 1,
                        sample = i / (columns * rows * slices) - 1,
                        number = ((slice + 1) * samples + sample) * texels + y * width + x;
         const bool is_inside = x < width && y < height && slice < 2 && sample < samples;
         const auto texel_of = [&](const TestImage &image) {
            return is_inside
                      ? image.memory.as<std::byte>().subspan(number * layout.bytes, layout.bytes)
                      : std::span(zeros).first(layout.bytes);
         };
         for (uint32_t c = 0; c < 4; ++c) {
            ASSERT_TRUE(oracle::reads_as(layout, texel_of(from), "RGBA"[c], loaded.as()[4 * i + c]))
               << format.name << ", " << i;
            const bool is_exact = !is_inside || oracle::stored_as(layout, texel_of(to), "RGBA"[c],
                                                                  colors.as()[4 * i + c]);
            ASSERT_TRUE(is_exact) << format.name << ", " << i;
         }
         if (is_inside)
            is_stored[number] = true;
      }
      EXPECT_EQ(std::ranges::count(is_stored, true), 2 * samples * texels);
      for (uint32_t i = 0; i < is_stored.size() * layout.bytes; ++i)
         ASSERT_TRUE(is_stored[i / layout.bytes] || first[i] == before[i])
            << format.name << ", " << i;
   }
}

/// Each invocation counts in a sample of one layer; the numbers of samples and the size.
TEST_P(SampleCountTest, AtomicsOnSamples)
{
   const TestImage image = make_samples(VK_FORMAT_R32_UINT, VK_IMAGE_USAGE_STORAGE_BIT);
   const auto words = image.memory.as();
   std::vector<uint32_t> expected(words.begin(), words.end());
   const TestBuffer out = make_buffer(16);
   run_shader(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0, r32ui) uniform uimage2DMS image;
      layout(binding = 1) buffer Out { ivec3 size; };
      void main()
      {
         int i = int(gl_GlobalInvocationID.x);
         imageAtomicAdd(image, ivec2(i % 7, 3), i % 9, i);
         size = ivec3(imageSize(image), imageSamples(image));
      })",
              {view_of(image, VK_IMAGE_VIEW_TYPE_2D, VK_IMAGE_ASPECT_COLOR_BIT, 2, 1)}, {out},
              {4, 1, 1});
   for (uint32_t i = 0; i < 256; ++i) {
      if (i % 9 < samples)
         expected[(2 * samples + i % 9) * texels + 3 * width + i % 7] += i;
   }
   EXPECT_TRUE(std::ranges::equal(words, expected));
   EXPECT_EQ(out.as()[0], width);
   EXPECT_EQ(out.as()[1], height);
   EXPECT_EQ(out.as()[2], samples);
}

/// A clear of a layer, and a copy of a region: all samples change alike.
TEST_P(SampleCountTest, ClearsAndCopies)
{
   const TestImage from = make_samples(VK_FORMAT_R8G8B8A8_UNORM),
                   to = make_samples(VK_FORMAT_R8G8B8A8_UNORM);
   const auto words = [](const TestImage &image) {
      const auto all = image.memory.as();
      return std::vector<uint32_t>(all.begin(), all.end());
   };
   std::vector<uint32_t> expected_from = words(from), expected_to = words(to);
   const auto at = [&](uint32_t layer, uint32_t sample, uint32_t x, uint32_t y) {
      return (layer * samples + sample) * texels + y * width + x;
   };
   for (uint32_t s = 0; s < samples; ++s) {
      for (uint32_t i = 0; i < texels; ++i)
         expected_from[at(1, s, i % width, i / width)] = 0xff3300ff;
      for (uint32_t layer = 0; layer < 2; ++layer) {
         for (uint32_t y = 0; y < 2; ++y) {
            for (uint32_t x = 0; x < 3; ++x)
               expected_to[at(1 + layer, s, 3 + x, 2 + y)] =
                  expected_from[at(layer, s, 1 + x, 3 + y)];
         }
      }
   }
   VkCommandBuffer cmd = begin();
   const VkClearColorValue color = {.float32 = {1, 0, 0.2f, 1}};
   const VkImageSubresourceRange layer = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 1, 1};
   vkCmdClearColorImage(cmd, from.handle, general, &color, 1, &layer);
   const VkImageCopy copy = {
      .srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2},
      .srcOffset = {1, 3, 0},
      .dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 2},
      .dstOffset = {3, 2, 0},
      .extent = {3, 2, 1},
   };
   vkCmdCopyImage(cmd, from.handle, general, to.handle, general, 1, &copy);
   run(cmd);
   EXPECT_EQ(words(from), expected_from);
   EXPECT_EQ(words(to), expected_to);
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleCountTest, testing::Values(2, 4, 8),
                         testing::PrintToStringParamName());

} // namespace weft::icd_test
