// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/image_formats.h"

#include "tests/backend/spirv/compiled.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace weft {
namespace {

/// The result has the format of each GLSL layout qualifier.
TEST(ImageFormats, NamesComeThrough)
{
   struct Kind {
      const char *prefix;
      std::vector<std::pair<const char *, const char *>> names;
   };
   const Kind kinds[] = {
      {"",
       {{"rgba32f", "Rgba32f"},
        {"rgba16f", "Rgba16f"},
        {"rg32f", "Rg32f"},
        {"rg16f", "Rg16f"},
        {"r11f_g11f_b10f", "R11fG11fB10f"},
        {"r32f", "R32f"},
        {"r16f", "R16f"},
        {"rgba16", "Rgba16"},
        {"rgb10_a2", "Rgb10A2"},
        {"rgba8", "Rgba8"},
        {"rg16", "Rg16"},
        {"rg8", "Rg8"},
        {"r16", "R16"},
        {"r8", "R8"},
        {"rgba16_snorm", "Rgba16Snorm"},
        {"rgba8_snorm", "Rgba8Snorm"},
        {"rg16_snorm", "Rg16Snorm"},
        {"rg8_snorm", "Rg8Snorm"},
        {"r16_snorm", "R16Snorm"},
        {"r8_snorm", "R8Snorm"}}},
      {"i",
       {{"rgba32i", "Rgba32i"},
        {"rgba16i", "Rgba16i"},
        {"rgba8i", "Rgba8i"},
        {"rg32i", "Rg32i"},
        {"rg16i", "Rg16i"},
        {"rg8i", "Rg8i"},
        {"r32i", "R32i"},
        {"r16i", "R16i"},
        {"r8i", "R8i"}}},
      {"u",
       {{"rgba32ui", "Rgba32ui"},
        {"rgba16ui", "Rgba16ui"},
        {"rgb10_a2ui", "Rgb10a2ui"},
        {"rgba8ui", "Rgba8ui"},
        {"rg32ui", "Rg32ui"},
        {"rg16ui", "Rg16ui"},
        {"rg8ui", "Rg8ui"},
        {"r32ui", "R32ui"},
        {"r16ui", "R16ui"},
        {"r8ui", "R8ui"}}},
      {"i64", {{"r64i", "R64i"}}},
      {"u64", {{"r64ui", "R64ui"}}},
   };
   for (const Kind &kind : kinds) {
      for (const auto &[glsl, name] : kind.names) {
         const std::string prefix = kind.prefix;
         const std::string text = test::compiled(
            "layout(binding = 0, " + std::string(glsl) + ") uniform " + prefix +
            "image2D image;\n" +
            "void main() { imageStore(image, ivec2(1), imageLoad(image, ivec2(2))); }");
         EXPECT_TRUE(test::has(text, std::string(" 2D 0 0 0 2 ") + name + "\n")) << glsl << text;
      }
   }
}

/// SPIR-V 3.11: formats that need more than Shader.
TEST(ImageFormats, ExtendedOnesNeedTheirCapability)
{
   const SpvImageFormat plain[] = {
      SpvImageFormatUnknown, SpvImageFormatRgba32f,  SpvImageFormatRgba16f,
      SpvImageFormatR32f,    SpvImageFormatRgba8,    SpvImageFormatRgba8Snorm,
      SpvImageFormatRgba32i, SpvImageFormatRgba16i,  SpvImageFormatRgba8i,
      SpvImageFormatR32i,    SpvImageFormatRgba32ui, SpvImageFormatRgba16ui,
      SpvImageFormatRgba8ui, SpvImageFormatR32ui};
   for (int format = SpvImageFormatUnknown; format <= SpvImageFormatR8ui; ++format) {
      const bool is_plain = std::ranges::count(plain, SpvImageFormat(format)) > 0;
      EXPECT_EQ(spirv::is_extended_format(SpvImageFormat(format)), !is_plain) << format;
   }
}

TEST(ImageFormats, WhatSpirvHasNoNameForIsUnknown)
{
   EXPECT_EQ(spirv::image_format(PIPE_FORMAT_NONE), SpvImageFormatUnknown);
   EXPECT_EQ(spirv::image_format(PIPE_FORMAT_B8G8R8A8_UNORM), SpvImageFormatUnknown);
   EXPECT_EQ(spirv::image_format(PIPE_FORMAT_R8G8B8A8_SRGB), SpvImageFormatUnknown);
}

} // namespace
} // namespace weft
