// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_shader_image_atomic_int64: images and texel buffers of integers of 64 bits.

#include "tests/icd/image_fixture.h"

#include <algorithm>
#include <cstring>

namespace weft::icd_test {

namespace {

using Number = uint64_t;

Number sum(Number a, Number b)
{
   return a + b;
}
Number both(Number a, Number b)
{
   return a & b;
}
Number any(Number a, Number b)
{
   return a | b;
}
Number one(Number a, Number b)
{
   return a ^ b;
}
Number least(Number a, Number b)
{
   return std::min(a, b);
}
Number largest(Number a, Number b)
{
   return std::max(a, b);
}
Number signed_least(Number a, Number b)
{
   return Number(std::min(int64_t(a), int64_t(b)));
}
Number signed_largest(Number a, Number b)
{
   return Number(std::max(int64_t(a), int64_t(b)));
}

constexpr uint32_t width = 13, height = 6, layers = 3, count = width * height;

struct WideFormat {
   VkFormat format;
   const char *type; ///< the prefix of GLSL's types
   uint32_t components;
};
constexpr WideFormat wide_formats[] = {
   {VK_FORMAT_R64_UINT, "u", 1},          {VK_FORMAT_R64_SINT, "i", 1},
   {VK_FORMAT_R64G64_UINT, "u", 2},       {VK_FORMAT_R64G64_SINT, "i", 2},
   {VK_FORMAT_R64G64B64A64_UINT, "u", 4}, {VK_FORMAT_R64G64B64A64_SINT, "i", 4},
};

} // namespace

class WideTexelTest : public ImageTest {
protected:
   TestImage make_wide(VkFormat format)
   {
      return make_image({.format = format, .extent = {width, height, 1}, .layers = layers});
   }
   VkImageView second_layer(const TestImage &image)
   {
      return make_image_view(image, VK_IMAGE_VIEW_TYPE_2D, 0, 1);
   }
   std::string qualifier_of(const std::string &type) const
   {
      return type == "u" ? "r64ui" : "r64i";
   }
   std::string head(const std::string &type) const
   {
      return "#extension GL_EXT_shader_image_int64 : require\n"
             "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
             "#extension GL_EXT_shader_image_load_formatted : require\n"
             "#define INT " +
             std::string(type == "u" ? "uint64_t" : "int64_t") + "\n#define VEC4 " + type +
             "64vec4\n#define IMAGE " + type + "64image2D\n#define BUFFER " + type +
             "64imageBuffer\n";
   }
};

/// Mirrors an image; the last texels are out of bounds.
TEST_F(WideTexelTest, LoadsAndStores)
{
   for (const auto &[format, prefix, components] : wide_formats) {
      const std::string type = prefix;
      const uint32_t size = layers * count * components * 8;
      for (const bool has_format : {true, false}) {
         // SPIR-V names only formats of one component.
         if (has_format && components > 1)
            continue;
         const TestImage from = make_wide(format), to = make_wide(format);
         const TestBuffer before = make_random_buffer(size), old = make_random_buffer(size),
                          after = make_buffer(size), others = make_buffer(2 * count * 32);
         fill(from, before);
         fill(to, old);
         const std::string qualifier = has_format ? ", " + qualifier_of(type) : "";
         run_shader(head(type) + "layout(local_size_x = 16) in;\nlayout(binding = 0" + qualifier +
                       ") readonly uniform IMAGE from;\nlayout(binding = 1" + qualifier +
                       R"() writeonly uniform IMAGE to;
                       layout(binding = 2) buffer Out { VEC4 loaded[]; };
                       void main()
                       {
                          ivec2 p = ivec2(gl_GlobalInvocationID.xy);
                          VEC4 texel = imageLoad(from, p);
                          if (p.x < 13)
                             loaded[p.y * 13 + p.x] = texel;
                          else
                             loaded[78 + p.y] = texel;
                          imageStore(to, ivec2(12 - p.x, p.y), texel);
                       })",
                    {second_layer(from), second_layer(to)}, {others}, {1, height, 1});
         read_back(to, after);
         const auto source = before.as<uint64_t>(), result = after.as<uint64_t>(),
                    loaded = others.as<uint64_t>();
         for (uint32_t i = 0; i < layers * count * components; ++i) {
            const uint32_t texel = i / components, x = texel % width,
                           mirrored = texel - x + (width - 1 - x);
            const uint64_t expected = texel / count == 1
                                         ? source[mirrored * components + i % components]
                                         : old.as<uint64_t>()[i];
            ASSERT_EQ(result[i], expected) << format << ", " << i;
         }
         for (uint32_t i = 0; i < 4 * (count + height); ++i) {
            const uint32_t texel = i / 4, c = i % 4;
            const uint64_t expected = c >= components ? c == 3
                                      : texel < count ? source[(count + texel) * components + c]
                                                      : 0;
            ASSERT_EQ(loaded[i], expected) << format << ", " << i;
         }
      }
   }
}

/// Many invocations change each texel; the order does not matter.
TEST_F(WideTexelTest, Atomics)
{
   struct Operation {
      const char *name;
      uint64_t (*apply)(uint64_t, uint64_t);
      uint64_t (*apply_signed)(uint64_t, uint64_t);
   };
   const Operation operations[] = {
      {"Add", sum, sum},
      {"Min", least, signed_least},
      {"Max", largest, signed_largest},
      {"And", both, both},
      {"Or", any, any},
      {"Xor", one, one},
   };
   for (const Operation &operation : operations) {
      for (const bool is_signed : {false, true}) {
         const VkFormat format = is_signed ? VK_FORMAT_R64_SINT : VK_FORMAT_R64_UINT;
         const std::string type = is_signed ? "i" : "u";
         const TestImage image = make_wide(format);
         const TestBuffer before = make_random_buffer(layers * count * 8),
                          after = make_buffer(layers * count * 8),
                          numbers = make_random_buffer(8 * count * 8);
         fill(image, before);
         run_shader(head(type) + "layout(local_size_x = 16) in;\nlayout(binding = 0, " +
                       qualifier_of(type) +
                       ") uniform IMAGE image;\n"
                       "layout(binding = 1) buffer In { INT numbers[]; };\n"
                       "void main()\n"
                       "{\n"
                       "   uvec3 p = gl_GlobalInvocationID;\n"
                       "   INT number = numbers[(p.z * 6 + p.y) * 13 + min(p.x, 12)];\n"
                       "   imageAtomic" +
                       operation.name +
                       "(image, ivec2(p.xy), number);\n"
                       "}",
                    {second_layer(image)}, {numbers}, {1, height, 8});
         read_back(image, after);
         for (uint32_t i = 0; i < layers * count; ++i) {
            uint64_t expected = before.as<uint64_t>()[i];
            for (uint32_t n = 0; i / count == 1 && n < 8; ++n) {
               const uint64_t number = numbers.as<uint64_t>()[n * count + i % count];
               expected = is_signed ? operation.apply_signed(expected, number)
                                    : operation.apply(expected, number);
            }
            ASSERT_EQ(after.as<uint64_t>()[i], expected) << operation.name << ", " << i;
         }
      }
   }
}

/// Each invocation adds its number by comparisons with the old one, and exchanges another texel.
TEST_F(WideTexelTest, ExchangesInTexelBuffers)
{
   const TestBuffer memory = make_random_buffer(64 * 8), numbers = make_random_buffer(256 * 8),
                    out = make_buffer(64 * 8);
   const std::vector<uint64_t> before(memory.as<uint64_t>().begin(), memory.as<uint64_t>().end());
   const Program program = make_program(head("u") + R"(
      layout(local_size_x = 64) in;
      layout(binding = 0, r64ui) uniform BUFFER texels;
      layout(binding = 1) buffer In { INT numbers[]; };
      layout(binding = 2) buffer Out { INT old[]; };
      void main()
      {
         int i = int(gl_GlobalInvocationID.x);
         INT expected = imageLoad(texels, 0).x;
         for (;;) {
            INT found = imageAtomicCompSwap(texels, 0, expected, expected + numbers[i]);
            if (found == expected)
               break;
            expected = found;
         }
         if (i < 32)
            old[i] = imageAtomicExchange(texels, 1 + i, numbers[i]);
         old[min(32 + i, 63)] = imageAtomicAdd(texels, 64 + i, INT(1));
      })",
                                        storage_texels, 2);
   run_program(program, make_view(memory, VK_FORMAT_R64_UINT), {numbers, out}, 4);
   uint64_t total = before[0];
   for (uint64_t number : numbers.as<uint64_t>())
      total += number;
   const auto after = memory.as<uint64_t>();
   EXPECT_EQ(after[0], total);
   for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(out.as<uint64_t>()[i], before[1 + i]) << i;
      EXPECT_EQ(after[1 + i], numbers.as<uint64_t>()[i]) << i;
      EXPECT_EQ(out.as<uint64_t>()[32 + i], 0u) << "out of bounds: " << i;
   }
   for (uint32_t i = 33; i < 64; ++i)
      EXPECT_EQ(after[i], before[i]) << i;
}

/// A null descriptor has no format, and so no component A that a format lacks. Texels outside of an
/// image have the component A of its format.
TEST_F(WideTexelTest, NullDescriptorsAndPlacesOutside)
{
   const TestBuffer out = make_buffer(64);
   run_shader(R"(
      #extension GL_EXT_shader_image_load_formatted : require
      #extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
      #extension GL_EXT_shader_image_int64 : require
      layout(local_size_x = 1) in;
      layout(binding = 0) readonly uniform u64image2D absent;
      layout(binding = 1) readonly uniform u64image2D image;
      layout(binding = 2) buffer Out { u64vec4 colors[2]; };
      void main()
      {
         colors[0] = imageLoad(absent, ivec2(gl_GlobalInvocationID.xy));
         colors[1] = imageLoad(image, ivec2(-1, 0));
      })",
              {VK_NULL_HANDLE, second_layer(make_wide(VK_FORMAT_R64_UINT))}, {out});
   const uint64_t expected[] = {0, 0, 0, 0, 0, 0, 0, 1};
   EXPECT_TRUE(std::ranges::equal(out.as<uint64_t>(), expected));
}

TEST_F(WideTexelTest, Features)
{
   for (const WideFormat &wide : wide_formats) {
      VkFormatProperties properties;
      vkGetPhysicalDeviceFormatProperties(physical, wide.format, &properties);
      constexpr VkFormatFeatureFlags atomics = VK_FORMAT_FEATURE_STORAGE_IMAGE_ATOMIC_BIT,
                                     lacks = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT |
                                             VK_FORMAT_FEATURE_BLIT_SRC_BIT;
      const VkFormatFeatureFlags has = VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT |
                                       VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
                                       (wide.components == 1 ? atomics : 0);
      EXPECT_EQ(properties.optimalTilingFeatures & (has | atomics | lacks), has);
      const VkFormatFeatureFlags in_buffers[] = {
         0,
         VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT |
            VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_ATOMIC_BIT,
         VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT, 0, 0};
      EXPECT_EQ(properties.bufferFeatures, in_buffers[wide.components]);
      VkImageFormatProperties limits;
      EXPECT_EQ(vkGetPhysicalDeviceImageFormatProperties(physical, wide.format, VK_IMAGE_TYPE_2D,
                                                         VK_IMAGE_TILING_OPTIMAL,
                                                         VK_IMAGE_USAGE_SAMPLED_BIT, 0, &limits),
                VK_ERROR_FORMAT_NOT_SUPPORTED);
   }
}

/// A color has two components of 64 bits; the others become 0.
TEST_F(WideTexelTest, Clears)
{
   for (const auto &[format, type, components] : wide_formats) {
      const TestImage image = make_wide(format);
      const uint32_t size = layers * count * components * 8;
      const TestBuffer before = make_random_buffer(size), after = make_buffer(size);
      fill(image, before);
      const VkClearColorValue color = {.uint32 = {0x89abcdef, 0xfedcba98, 0x1234567, 0x76543210}};
      const VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 1, 1};
      VkCommandBuffer cmd = begin();
      vkCmdClearColorImage(cmd, image.handle, VK_IMAGE_LAYOUT_GENERAL, &color, 1, &range);
      run(cmd);
      read_back(image, after);
      constexpr uint64_t numbers[] = {0xfedcba9889abcdef, 0x7654321001234567, 0, 0};
      for (uint32_t i = 0; i < layers * count * components; ++i)
         ASSERT_EQ(after.as<uint64_t>()[i],
                   i / components / count == 1 ? numbers[i % components] : before.as<uint64_t>()[i])
            << type << components << ", " << i;
   }
}

TEST_F(WideTexelTest, PairsInTexelBuffers)
{
   const TestBuffer memory = make_random_buffer(64 * 16), out = make_buffer(65 * 32);
   const std::vector<uint64_t> before(memory.as<uint64_t>().begin(), memory.as<uint64_t>().end());
   const Program program = make_program(head("i") + R"(
      layout(local_size_x = 13) in;
      layout(binding = 0) uniform BUFFER texels;
      layout(binding = 1) buffer Out { VEC4 loaded[]; };
      void main()
      {
         int i = int(gl_GlobalInvocationID.x);
         VEC4 pair = imageLoad(texels, i);
         loaded[i] = pair;
         imageStore(texels, i, pair.yxzw);
      })",
                                        storage_texels, 1);
   run_program(program, make_view(memory, VK_FORMAT_R64G64_SINT), {out}, 5);
   for (uint32_t i = 0; i < 64; ++i) {
      for (uint32_t c = 0; c < 2; ++c) {
         EXPECT_EQ(out.as<uint64_t>()[4 * i + c], before[2 * i + c]);
         EXPECT_EQ(memory.as<uint64_t>()[2 * i + c], before[2 * i + 1 - c]);
      }
      EXPECT_EQ(out.as<uint64_t>()[4 * i + 2], 0u);
      EXPECT_EQ(out.as<uint64_t>()[4 * i + 3], 1u);
   }
   const uint64_t outside[] = {0, 0, 0, 1};
   EXPECT_TRUE(std::ranges::equal(out.as<uint64_t>().subspan(4 * 64), outside));
}

} // namespace weft::icd_test
