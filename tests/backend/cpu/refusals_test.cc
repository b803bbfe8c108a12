// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shaders that the passes to machine code refuse, and their messages.

#include "tests/backend/cpu/lower_in_two_parts.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>
#include <sstream>

namespace weft {
namespace {

using test::compile;
using test::Source;

/// With storage buffers 0 to 7 of set 0.
Result<Shader> lower(const ShaderSource &source)
{
   std::vector<BindingLayout> bindings;
   for (uint32_t i = 0; i < 8; ++i)
      bindings.push_back({0, i, 0, i * 16, 16, 1, false});
   return test::lower_in_two_parts(
      source,
      {.target = test::target(16, true), .matrices = {test::operations()}, .bindings = bindings});
}

std::string error_of(const Source &source)
{
   const Result<Shader> shader = lower(source.shader_source());
   return shader ? "" : shader.error().message;
}

TEST(Errors, EntryPoints)
{
   Source source = compile("void main() {}");
   EXPECT_EQ(error_of(source), "");
   ShaderSource renamed = source.shader_source();
   renamed.entry_point = "other";
   const Result<Shader> shader = lower(renamed);
   ASSERT_FALSE(shader);
   EXPECT_NE(shader.error().message.find("Entry point not found for compute shader \"other\""),
             std::string::npos)
      << shader.error().message;
}

TEST(Errors, MissingBinding)
{
   EXPECT_EQ(error_of(compile("layout(set = 2, binding = 5) buffer B { uint x; };\n"
                              "void main() { x = 1; }")),
             "the shader uses the binding 5 of the descriptor set 2, which the pipeline layout "
             "lacks");
}

TEST(Errors, Images)
{
   EXPECT_EQ(error_of(compile("layout(binding = 0) uniform sampler2D s;\n"
                              "layout(binding = 1) buffer B { vec4 x; };\n"
                              "void main() { x = textureLod(s, vec2(0), 0); }")),
             "the binding 0 of the descriptor set 0 is not a sampled image");
   EXPECT_EQ(error_of(compile("layout(binding = 0, r32f) uniform image2D i;\n"
                              "void main() { imageStore(i, ivec2(0), vec4(0)); }")),
             "the binding 0 of the descriptor set 0 is not a storage image");
}

TEST(Errors, NotSpirv)
{
   EXPECT_EQ(error_of({}), "the SPIR-V module is empty");
   EXPECT_EQ(error_of({{0x07230203}, {}, {}}).substr(0, 15), "invalid SPIR-V:");
   EXPECT_EQ(error_of({{1, 2, 3, 4, 5, 6}, {}, {}}).substr(0, 15), "invalid SPIR-V:");
}

/// Sizes that only a specialization constant can make.
TEST(Errors, HugeSizes)
{
   const auto with_size = [](const std::string &glsl, uint32_t size) {
      Source source = compile("layout(constant_id = 0) const uint N = 4;\n"
                              "layout(binding = 0) buffer B { uint data[]; };\n" +
                              glsl);
      source.constant_ids = {0};
      source.constant_values = {size};
      return error_of(source);
   };
   const std::string local = "void main() { uint a[N]; a[data[0]] = 1; data[1] = a[data[2]]; }";
   EXPECT_EQ(with_size(local, 1000), "");
   std::string several;
   for (const char *name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                            "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"})
      several += std::string("uint ") + name + "[N]; " + name +
                 "[data[0]] = 1; data[1] += " + name + "[data[2]]; ";
   EXPECT_NE(with_size("void main() { " + several + "}", 60'000).find("bytes of private memory"),
             std::string::npos);
   EXPECT_NE(with_size(local, 100'000).find("too large: at most 65536"), std::string::npos);
   EXPECT_NE(with_size(local, 0xffffffff).find("is too large"), std::string::npos);

   const std::string shared = "shared uint s[N];\n"
                              "void main() { s[data[0]] = 1; barrier(); data[1] = s[data[2]]; }";
   EXPECT_EQ(with_size(shared, 1000), "");
   EXPECT_NE(with_size(shared, 120'000).find("bytes of shared memory"), std::string::npos);
   EXPECT_NE(with_size(shared, 0x80000001).find("is too large"), std::string::npos);

   const std::string value = "struct S { uint a[N]; };\n"
                             "S f(S s) { s.a[data[3]] = 3; return s; }\n"
                             "void main() { S s; s.a[data[0]] = 1; data[1] = f(s).a[data[2]]; }";
   EXPECT_EQ(with_size(value, 100), "");
   EXPECT_NE(with_size(value, 0x10000000), "");

   for (const std::string &glsl : {local, shared, value})
      EXPECT_NE(with_size(glsl, 0).find("has an array of length 0"), std::string::npos);
}

TEST(Errors, PushConstants)
{
   const auto with_words = [](uint32_t words) {
      return error_of(compile("layout(push_constant) uniform P { uint p[" + std::to_string(words) +
                              "]; };\nlayout(binding = 0) buffer B { uint x; };\n"
                              "void main() { x = p[x]; }"));
   };
   EXPECT_EQ(with_words(64), "");
   EXPECT_EQ(with_words(65),
             "the shader needs 260 bytes of push constants; at most 256 are supported");
}

/// SPIR-V's offsets are unsigned numbers of 32 bits, NIR's are signed.
TEST(Errors, OffsetsOfBlocks)
{
   const auto with_offset = [](uint32_t offset) {
      Source source =
         compile("layout(binding = 0) buffer B { uint x; layout(offset = 77700) uint y; };\n"
                 "void main() { y = x; }");
      uint32_t found = 0;
      for (uint32_t &word : source.spirv) {
         if (word == 77700) {
            word = offset;
            found++;
         }
      }
      EXPECT_EQ(found, 1u);
      return error_of(source);
   };
   EXPECT_EQ(with_offset(77700), "");
   EXPECT_EQ(with_offset(0x7ffffffc), "");
   for (uint32_t offset : {0x80000000u, 0xfffffffcu})
      EXPECT_EQ(with_offset(offset),
                "a member's Offset of " + std::to_string(offset) + " bytes is not supported");
}

TEST(Errors, Workgroups)
{
   const auto with_size = [](uint32_t size) {
      Source source = {e2e::compile_glsl(std::string(e2e::glsl_header) +
                                         "layout(local_size_x_id = 0) in;\nvoid main() {}"),
                       {size},
                       {0}};
      return error_of(source);
   };
   EXPECT_EQ(with_size(1024), "");
   EXPECT_EQ(with_size(4096),
             "the shader needs 4096 invocations per workgroup; at most 2048 are supported");
   EXPECT_NE(with_size(0), "");
   EXPECT_NE(with_size(65537), "");
}

TEST(Errors, InliningThatExplodes)
{
   std::ostringstream glsl;
   glsl << "layout(binding = 0) buffer B { uint x; };\nvoid f0() { x *= x + 1; }\n";
   for (int i = 1; i < 40; ++i)
      glsl << "void f" << i << "() { f" << i - 1 << "(); f" << i - 1 << "(); }\n";
   glsl << "void main() { f39(); }";
   EXPECT_EQ(error_of(compile(glsl.str())),
             "the shader has more than 1048576 instructions once its functions are inlined");
}

/// The compiler folds these; the CPU traps on them.
TEST(Constants, DivisionsThatOverflow)
{
   EXPECT_EQ(error_of(compile("layout(constant_id = 0) const int X = -2147483648;\n"
                              "layout(constant_id = 1) const int Y = -1;\n"
                              "layout(binding = 0) buffer B { int data[]; };\n"
                              "const int quotient = X / Y;\nconst int rest = X % Y;\n"
                              "void main() { data[0] = quotient; data[1] = rest; data[2] = X / 0; "
                              "int64_t z = int64_t(1) << 63; data[3] = int(z / -1 + z % -1); }")),
             "");
}

} // namespace
} // namespace weft
