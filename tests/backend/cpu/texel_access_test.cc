// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Neighbouring invocations that access neighbouring texels make vectors, not gathers.

#include "backend/cpu/compiler.h"
#include "backend/cpu/lowered_shader.h"
#include "backend/cpu/specialize/specialize_branches.h"
#include "nir_passes/images/texel_descriptor.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

const char *const copy_of_unknown_formats =
   "layout(binding = 0) uniform samplerBuffer from;\n"
   "layout(binding = 1) writeonly uniform imageBuffer to;\n"
   "void main()\n"
   "{\n"
   "   int i = int(gl_GlobalInvocationID.x);\n"
   "   imageStore(to, i, texelFetch(from, i));\n"
   "}";

cpu::CompileOptions two_texel_buffers()
{
   cpu::CompileOptions options;
   options.subgroup_size = 32;
   options.bindings = {{0, 0, 0, 0, sizeof(TexelDescriptor), 1, false},
                       {0, 1, 0, 32, sizeof(TexelDescriptor), 1, false}};
   return options;
}

cpu::AccessCounts accesses_of(const std::string &glsl)
{
   const test::Source source = test::compile(glsl);
   cpu::CompileStatistics statistics;
   cpu::CompileOptions options = two_texel_buffers();
   options.statistics = &statistics;
   const auto program = cpu::compile(source.shader_source(), options);
   EXPECT_TRUE(program) << program.error().message;
   return statistics.accesses;
}

TEST(TexelAccesses, DeclaredFormatsAreVectors)
{
   for (const char *format : {"r32f", "rgba8", "rgba8_snorm", "rgba16f", "rgba32f"}) {
      const std::string layout = std::string("layout(binding = ") + "0, " + format +
                                 ") readonly uniform imageBuffer from;\nlayout(binding = 1, " +
                                 format + ") writeonly uniform imageBuffer to;\n";
      const cpu::AccessCounts counts =
         accesses_of(layout + "void main()\n"
                              "{\n"
                              "   int i = int(gl_GlobalInvocationID.x);\n"
                              "   imageStore(to, i, imageLoad(from, i) * 0.5);\n"
                              "}");
      EXPECT_EQ(counts.gathered, 0u) << format;
      EXPECT_EQ(counts.contiguous + counts.strided, 2u) << format;
   }
}

TEST(TexelAccesses, UnknownFormatsAreVectorsOfEachSize)
{
   const cpu::AccessCounts counts = accesses_of(copy_of_unknown_formats);
   EXPECT_EQ(counts.gathered, 0u);
   // Six sizes, loaded and stored, and the short way that loads texels like RGBA8's.
   EXPECT_EQ(counts.contiguous + counts.strided, 6u * 2 + 1);
}

TEST(TexelAccesses, OtherElementsAreGathered)
{
   const cpu::AccessCounts counts =
      accesses_of("layout(binding = 0, r32ui) readonly uniform uimageBuffer from;\n"
                  "layout(binding = 1, r32ui) writeonly uniform uimageBuffer to;\n"
                  "void main()\n"
                  "{\n"
                  "   int i = int(gl_GlobalInvocationID.x);\n"
                  "   imageStore(to, i, imageLoad(from, int(imageLoad(from, i).x)));\n"
                  "}");
   EXPECT_EQ(counts.gathered, 1u);
}

/// However short the code of the other sizes is, a program has one size.
TEST(TexelAccesses, DispatchesDecideTheSize)
{
   const test::Source source = test::compile(copy_of_unknown_formats);
   const Result<cpu::LoweredShader> lowered =
      cpu::lower(source.shader_source(), two_texel_buffers());
   ASSERT_TRUE(lowered) << lowered.error().message;
   constexpr uint32_t min_instructions = 1000;
   const cpu::BranchConditions conditions =
      cpu::find_branch_conditions(lowered->nir.get(), lowered->subgroup_size, min_instructions);
   EXPECT_GE(conditions.branches.size(), 2u * 5); // between six sizes
   TexelDescriptor words = {}, bytes = {};
   words.format.texel_bytes = 4;
   bytes.format.texel_bytes = 1;
   for (const TexelDescriptor &to : {words, bytes}) {
      const TexelDescriptor set[] = {words, to};
      cpu::DispatchFacts facts;
      facts.sets[0] = std::as_bytes(std::span(set));
      for (const cpu::BranchDecision decision : cpu::decide_branches(conditions, facts))
         EXPECT_NE(decision, cpu::BranchDecision::undecided);
   }
}

} // namespace
} // namespace weft
