// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Each part of a module is in the result, or the compiler reports that it cannot be: nothing is
/// left out in silence.

#include "tests/backend/spirv/compiled.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::compiled;
using test::count;
using test::has;

TEST(NothingIsDropped, ProjectionsAreDivisions)
{
   const std::string text = compiled(R"(
      layout(binding = 0) uniform sampler2D image;
      layout(binding = 1) uniform sampler2DShadow shadow;
      layout(binding = 2) buffer B { vec4 b[]; };
      void main() {
         b[0] = textureProjLod(image, b[1].xyz, 0.0) + textureProjGrad(image, b[2], vec2(1), vec2(1));
         b[3] = vec4(textureProjLod(shadow, b[4], 0.0));
      })");
   EXPECT_EQ(count(text, "= OpImageSample"), 3u) << text;
   EXPECT_EQ(count(text, "= OpFDiv"), 3u) << text;
}

TEST(NothingIsDropped, ALeastLevelOfDetailIsRefused)
{
   EXPECT_TRUE(has(compiled(R"(
      #extension GL_ARB_sparse_texture_clamp : enable
      layout(binding = 0) uniform sampler2D image;
      layout(binding = 1) buffer B { vec4 b[]; };
      void main() { b[0] = textureGradClampARB(image, b[1].xy, vec2(0), vec2(0), 2.0); })"),
                   "MinLod"));
}

TEST(NothingIsDropped, TheDevicesIndexIsRefused)
{
   EXPECT_TRUE(has(compiled("#extension GL_EXT_device_group : enable\n"
                            "layout(binding = 0) buffer B { int b[]; };\n"
                            "void main() { b[0] = gl_DeviceIndex; }"),
                   "the SPIR-V capability DeviceGroup is not supported"));
}

TEST(NothingIsDropped, WhereInvocationsMeetAgain)
{
   const auto with_mode = [](const char *mode, const char *extension) {
      return compiled(std::string("#extension GL_EXT_spirv_intrinsics : enable\n"
                                  "spirv_execution_mode(extensions = [\"") +
                      extension + "\"], " + mode +
                      ");\n"
                      "layout(binding = 0) buffer B { uint b[]; };\n"
                      "void main() { if (b[0] > 3) b[1] = subgroupAdd(b[2]); }");
   };
   for (const auto &[mode, name, extension] :
        {std::tuple("6023", "MaximallyReconvergesKHR", "SPV_KHR_maximal_reconvergence"),
         {"4421", "SubgroupUniformControlFlowKHR", "SPV_KHR_subgroup_uniform_control_flow"}}) {
      const std::string text = with_mode(mode, extension);
      EXPECT_TRUE(has(text, std::string("OpExecutionMode %1 ") + name) ||
                  has(text, std::string("OpExecutionMode %main ") + name))
         << text;
      EXPECT_TRUE(has(text, std::string("OpExtension \"") + extension + "\"")) << text;
   }
   const std::string without = compiled("layout(binding = 0) buffer B { uint b[]; };\n"
                                        "void main() { b[1] = subgroupAdd(b[2]); }");
   EXPECT_FALSE(has(without, "Reconverges"));
   EXPECT_FALSE(has(without, "UniformControlFlow"));
}

} // namespace
} // namespace weft
