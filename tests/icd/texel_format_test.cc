// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Every format of texel buffers, loaded and stored, beside the oracle.

#include "tests/icd/texel_fixture.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace weft::icd_test {

namespace {

constexpr uint32_t texels = 256, threads = 320;
constexpr uint32_t poison = 0xa5a5a5a5;

std::string with_prefix(std::string glsl, const std::string &prefix, const std::string &layout = {})
{
   for (size_t at; (at = glsl.find('$')) != std::string::npos;)
      glsl.replace(at, 1, prefix);
   for (size_t at; (at = glsl.find('@')) != std::string::npos;)
      glsl.replace(at, 1, layout);
   return glsl;
}

constexpr const char *formatted_load = "#extension GL_EXT_shader_image_load_formatted : require\n";

/// result[i] is element i, result[threads + i] element indices[i].
constexpr const char *load_shader = R"(
   layout(local_size_x = 64) in;
   layout(binding = 0 @;
   layout(binding = 1) buffer Out { $vec4 result[]; };
   layout(binding = 2) buffer In { int indices[]; };
   void main()
   {
      int i = int(gl_GlobalInvocationID.x);
      result[i] = LOAD(texels, i);
      result[320 + i] = LOAD(texels, indices[i]);
   })";

std::string fetch_shader(const std::string &prefix)
{
   return "#define LOAD texelFetch\n" +
          with_prefix(load_shader, prefix, ") uniform " + prefix + "samplerBuffer texels");
}

std::string image_load_shader(const std::string &prefix, const char *qualifier)
{
   const std::string declared = qualifier ? std::string(", ") + qualifier : "";
   return std::string(formatted_load) + "#define LOAD imageLoad\n" +
          with_prefix(load_shader, prefix,
                      declared + ") readonly uniform " + prefix + "imageBuffer texels");
}

/// Element i becomes colors[i].
std::string image_store_shader(const std::string &prefix, const char *qualifier)
{
   const std::string declared = qualifier ? std::string(", ") + qualifier : "";
   return with_prefix(R"(
      layout(local_size_x = 64) in;
      layout(binding = 0 @) writeonly uniform $imageBuffer texels;
      layout(binding = 1) buffer In { $vec4 colors[]; };
      void main()
      {
         int i = int(gl_GlobalInvocationID.x);
         imageStore(texels, i, colors[i]);
      })",
                      prefix, declared);
}

} // namespace

class TexelFormatTest : public TexelTest {
protected:
   /// A number of any class: random bits, small integers, numbers near 0 … 1.
   uint32_t random_color(bool integer)
   {
      const uint64_t bits = random();
      switch (bits >> 32 & 3) {
      case 0:
         return uint32_t(bits);
      case 1:
         return integer ? uint32_t(bits & 0x1ff) - 128
                        : std::bit_cast<uint32_t>(float(int32_t(bits)) * 0x1p-31f);
      default:
         return integer ? uint32_t(bits & 0x1ffff) - 0x8000
                        : std::bit_cast<uint32_t>(float(bits & 0xffff) * 0x1p-16f);
      }
   }

   /// Elements in and out of bounds.
   TestBuffer make_indices()
   {
      TestBuffer indices = make_buffer(threads * 4);
      for (uint32_t &index : indices.as())
         index = uint32_t(random()) % (texels + 16);
      const uint32_t outlying[] = {texels,     texels + 1, 0xffffffff, 0x80000000,
                                   0x10000000, 0x40000001, 0x20000002, 0x0ffffff0};
      for (uint32_t index : outlying)
         indices.as()[random() % threads] = index;
      return indices;
   }

   void check_loads(const Format &format, const Program &program)
   {
      const oracle::TexelLayout layout = format.layout();
      // Behind the view's elements: a part of one, then random bytes.
      const uint32_t offset = 16 * (random() % 4), bytes = texels * layout.bytes;
      TestBuffer memory = make_random_buffer(offset + bytes + 4096);
      const VkBufferView view = make_view(memory, format.format, offset, bytes + layout.bytes - 1);
      TestBuffer out = make_buffer(2 * threads * 16), indices = make_indices();
      std::ranges::fill(out.as(), poison);
      run_program(program, view, {out, indices}, threads / 64);

      const std::vector<std::byte> zeros(layout.bytes);
      for (uint32_t i = 0; i < 2 * threads; ++i) {
         const uint32_t element = i < threads ? i : indices.as()[i - threads];
         std::span<const std::byte> texel = zeros;
         if (element < texels)
            texel = memory.as<std::byte>().subspan(offset + element * layout.bytes, layout.bytes);
         for (uint32_t c = 0; c < 4; ++c)
            ASSERT_TRUE(oracle::reads_as(layout, texel, "RGBA"[c], out.as()[4 * i + c]))
               << format.name << ", element " << element << ", component " << c << ": " << std::hex
               << out.as()[4 * i + c];
      }
   }

   void check_stores(const Format &format, const Program &program)
   {
      const oracle::TexelLayout layout = format.layout();
      const uint32_t offset = 16 * (random() % 4), bytes = texels * layout.bytes;
      TestBuffer memory = make_buffer(offset + bytes + 4096);
      memset(memory.map, 0xa5, memory.size);
      const VkBufferView view = make_view(memory, format.format, offset, bytes + layout.bytes - 1);
      TestBuffer colors = make_buffer(threads * 16);
      for (uint32_t &color : colors.as())
         color = random_color(layout.is_integer());
      run_program(program, view, {colors}, threads / 64);

      for (uint32_t i = 0; i < texels; ++i) {
         const auto texel = memory.as<std::byte>().subspan(offset + i * layout.bytes, layout.bytes);
         for (uint32_t c = 0; c < 4; ++c)
            ASSERT_TRUE(oracle::stored_as(layout, texel, "RGBA"[c], colors.as()[4 * i + c]))
               << format.name << ", element " << i << ", component " << c << ": " << std::hex
               << colors.as()[4 * i + c] << ", first byte " << int(texel[0]);
      }
      for (uint32_t i = 0; i < memory.size; ++i) {
         const bool in_view = i >= offset && i < offset + bytes;
         ASSERT_TRUE(in_view || memory.map[i] == 0xa5) << format.name << ", byte " << i;
      }
   }

   /// The programs without a declared format, by the prefix.
   std::map<std::string, Program> make_programs(std::string (*shader)(const std::string &),
                                                VkDescriptorType type, uint32_t buffers)
   {
      std::map<std::string, Program> programs;
      for (const char *prefix : {"", "i", "u"})
         programs[prefix] = make_program(shader(prefix), type, buffers);
      return programs;
   }
};

TEST_F(TexelFormatTest, RequiredFormatsAreSupported)
{
   for (const Format &format : texel_formats()) {
      VkFormatFeatureFlags wanted = 0;
      if (format.required >= fetches)
         wanted |= VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT;
      if (format.required >= stores)
         wanted |= VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT;
      if (format.format == VK_FORMAT_R32_UINT || format.format == VK_FORMAT_R32_SINT)
         wanted |= VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_ATOMIC_BIT;
      EXPECT_EQ(buffer_features(physical, format.format) & wanted, wanted) << format.name;
   }
}

/// So that the tests below cover all that the driver reports.
TEST_F(TexelFormatTest, OtherFormatsAreNotSupported)
{
   for (int number = 0; number <= VK_FORMAT_ASTC_12x12_SRGB_BLOCK; ++number) {
      const auto format = VkFormat(number);
      if (std::ranges::find(texel_formats(), format, &Format::format) != texel_formats().end())
         continue;
      // Components of 64 bits (wide_texel_test.cc).
      if (format == VK_FORMAT_R64_UINT || format == VK_FORMAT_R64_SINT ||
          format == VK_FORMAT_R64G64_UINT || format == VK_FORMAT_R64G64_SINT)
         continue;
      EXPECT_EQ(buffer_features(physical, format), 0u) << number;
   }
}

TEST_F(TexelFormatTest, Properties3NameAccessWithoutFormat)
{
   for (const Format &format : texel_formats()) {
      VkFormatProperties3 properties3 = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_3};
      VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2,
                                        .pNext = &properties3};
      vkGetPhysicalDeviceFormatProperties2(physical, format.format, &properties);
      constexpr VkFormatFeatureFlags2 without =
         VK_FORMAT_FEATURE_2_STORAGE_READ_WITHOUT_FORMAT_BIT |
         VK_FORMAT_FEATURE_2_STORAGE_WRITE_WITHOUT_FORMAT_BIT;
      const VkFormatFeatureFlags2 features = properties3.bufferFeatures;
      EXPECT_EQ(features & ~without, properties.formatProperties.bufferFeatures) << format.name;
      EXPECT_EQ(features & without,
                features & VK_FORMAT_FEATURE_2_STORAGE_TEXEL_BUFFER_BIT ? without : 0)
         << format.name;
   }
}

TEST_F(TexelFormatTest, Fetches)
{
   const auto programs = make_programs(fetch_shader, uniform_texels, 2);
   for (const Format &format : texel_formats()) {
      if (buffer_features(physical, format.format) & VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT)
         check_loads(format, programs.at(format.prefix()));
   }
}

TEST_F(TexelFormatTest, LoadsWithoutFormat)
{
   const auto shader = [](const std::string &prefix) { return image_load_shader(prefix, nullptr); };
   const auto programs = make_programs(shader, storage_texels, 2);
   for (const Format &format : texel_formats()) {
      if (buffer_features(physical, format.format) & VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT)
         check_loads(format, programs.at(format.prefix()));
   }
}

TEST_F(TexelFormatTest, StoresWithoutFormat)
{
   const auto shader = [](const std::string &prefix) {
      return image_store_shader(prefix, nullptr);
   };
   const auto programs = make_programs(shader, storage_texels, 1);
   for (const Format &format : texel_formats()) {
      if (buffer_features(physical, format.format) & VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT)
         check_stores(format, programs.at(format.prefix()));
   }
}

TEST_F(TexelFormatTest, LoadsAndStoresWithDeclaredFormat)
{
   for (const Format &format : texel_formats()) {
      if (!format.qualifier)
         continue;
      check_loads(format, make_program(image_load_shader(format.prefix(), format.qualifier),
                                       storage_texels, 2));
      check_stores(format, make_program(image_store_shader(format.prefix(), format.qualifier),
                                        storage_texels, 1));
   }
}

} // namespace weft::icd_test
