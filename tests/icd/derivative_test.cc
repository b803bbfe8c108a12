// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_compute_shader_derivatives: derivatives within quads, and samples with an implicit level
/// of detail.

#include "tests/backend/cpu/seed.h"
#include "tests/e2e/glsl.h"
#include "tests/icd/dispatch_fixture.h"
#include "tests/icd/sampling_fixture.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace weft::icd_test {

namespace {

struct Workgroup {
   bool has_squares; ///< DerivativeGroupQuads, else DerivativeGroupLinear
   uint32_t x, y, z;

   uint32_t size() const { return x * y * z; }
   /// The first invocation of the quad of invocation i, and the distance to the second row.
   uint32_t first_of(uint32_t i) const
   {
      return has_squares ? (i / x & ~1u) * x + (i % x & ~1u) : i & ~3u;
   }
   uint32_t number_of(uint32_t i) const
   {
      return has_squares ? (i / x & 1) * 2 + (i % x & 1) : i & 3;
   }
   uint32_t invocation(uint32_t first, uint32_t number) const
   {
      return first + (has_squares ? (number >> 1) * x + (number & 1) : number);
   }
   e2e::Words words() const
   {
      return {{"X", std::to_string(x)},
              {"Y", std::to_string(y)},
              {"Z", std::to_string(z)},
              {"GROUP", has_squares ? "derivative_group_quadsNV" : "derivative_group_linearNV"}};
   }
};

const char *const differences = R"(
#extension GL_NV_compute_shader_derivatives : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = $X, local_size_y = $Y, local_size_z = $Z) in;
layout($GROUP) in;
struct Results { float fine[3], coarse[3], plain[3], swapped[3]; uvec4 id; };
layout(binding = 0) buffer Out { float values[$X * $Y * $Z]; Results of[]; };
void main()
{
   uint i = gl_LocalInvocationIndex;
   float v = values[i];
   of[i].fine = float[](dFdxFine(v), dFdyFine(v), fwidthFine(v));
   of[i].coarse = float[](dFdxCoarse(v), dFdyCoarse(v), fwidthCoarse(v));
   of[i].plain = float[](dFdx(v), dFdy(v), fwidth(v));
   of[i].swapped = float[](subgroupQuadSwapHorizontal(v), subgroupQuadSwapVertical(v),
                           subgroupQuadBroadcast(v, 3));
   of[i].id = uvec4(gl_LocalInvocationID, 1);
})";

struct Results {
   float fine[3], coarse[3], plain[3], swapped[3];
   uint32_t id[4];
};

/// The values of the quad of an invocation, and its number in it.
void check(const Workgroup &group, uint32_t i, const float (&quad)[4], uint32_t own,
           const Results &r)
{
   const uint32_t row = own & 2, column = own & 1;
   const float x = quad[row + 1] - quad[row], y = quad[column + 2] - quad[column];
   EXPECT_EQ(r.fine[0], x);
   EXPECT_EQ(r.fine[1], y);
   EXPECT_EQ(r.fine[2], std::abs(x) + std::abs(y));
   for (const auto &coarse : {r.coarse, r.plain}) {
      EXPECT_EQ(coarse[0], quad[1] - quad[0]);
      EXPECT_EQ(coarse[1], quad[2] - quad[0]);
      EXPECT_EQ(coarse[2], std::abs(coarse[0]) + std::abs(coarse[1]));
   }
   EXPECT_EQ(r.swapped[0], quad[own ^ 1]);
   EXPECT_EQ(r.swapped[1], quad[own ^ 2]);
   EXPECT_EQ(r.swapped[2], quad[3]);
   EXPECT_EQ(r.id[0], i % group.x);
   EXPECT_EQ(r.id[1], i / group.x % group.y);
   EXPECT_EQ(r.id[2], i / group.x / group.y);
}

} // namespace

class DerivativeTest : public DispatchTest {};

TEST_F(DerivativeTest, Differences)
{
   std::mt19937_64 random(cpu::test::test_seed());
   const Workgroup groups[] = {{true, 2, 2, 1},   {true, 6, 4, 2},   {true, 16, 8, 1},
                               {true, 4, 2, 7},   {true, 2, 64, 2},  {false, 4, 1, 1},
                               {false, 3, 4, 2},  {false, 64, 1, 1}, {false, 1, 20, 1},
                               {false, 7, 2, 10}, {true, 10, 6, 3}};
   for (const Workgroup &group : groups) {
      SCOPED_TRACE(e2e::expand("$X x $Y x $Z, $GROUP", group.words()));
      const uint32_t n = group.size();
      const size_t offset = (n * sizeof(float) + 15) / 16 * 16;
      use_one_buffer(e2e::expand(differences, group.words()).c_str(), offset + n * sizeof(Results));
      const auto values = out.as<float>().first(n);
      for (float &value : values)
         value = float(int(random() % 2001) - 1000) / 8;
      dispatch_once();
      const auto *results = reinterpret_cast<const Results *>(out.map + offset);
      for (uint32_t i = 0; i < n && !HasFailure(); i++) {
         SCOPED_TRACE(i);
         const uint32_t first = group.first_of(i);
         float quad[4];
         for (uint32_t k = 0; k < 4; k++)
            quad[k] = values[group.invocation(first, k)];
         check(group, i, quad, group.number_of(i), results[i]);
      }
   }
}

class ImplicitLodTest : public SamplingTest {
protected:
   static constexpr uint32_t size = 64, level_count = 7;

   /// Each texel is the number of its level, in eighths.
   VkImageView make_levels(VkImageType type, VkImageViewType view, uint32_t layers)
   {
      ImageRecipe recipe = {.format = VK_FORMAT_R8_UNORM,
                            .type = type,
                            .extent = {size, size, 1},
                            .levels = level_count,
                            .layers = layers,
                            .usage = VK_IMAGE_USAGE_SAMPLED_BIT};
      if (view == VK_IMAGE_VIEW_TYPE_CUBE)
         recipe.flags = VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT;
      const TestImage image = make_image(recipe);
      for (uint32_t level = 0; level < level_count; level++) {
         const TestBuffer texels = make_buffer((size >> level) * (size >> level) * layers);
         std::ranges::fill(texels.as<uint8_t>(), uint8_t(level * 32));
         fill(image, texels, level);
      }
      return make_image_view(image, view, 0, 0, layers, level_count);
   }

   VkSampler make_level_sampler(bool levels_linear)
   {
      return make_sampler({.magnified_linear = true,
                           .minified_linear = true,
                           .levels_linear = levels_linear,
                           .bias = 0.5,
                           .least_lod = 0.5,
                           .largest_lod = 4},
                          VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK);
   }

   struct Lookup {
      const char *type, *sample, *query;
   };
   /// Workgroup g takes steps of exp2(lod_of(g)) texels along y, and half as long ones along x.
   static constexpr uint32_t group_count = 6;
   static float lod_of(uint32_t group) { return 0.8f * float(group) - 1.5f; }

   /// Results of all invocations: the level of a sample, of a query, and the query's level of
   /// detail.
   std::vector<std::array<float, 3>> look_up(const Lookup &lookup, VkImageView view,
                                             VkSampler sampler)
   {
      const uint32_t count = group_count * 16;
      const TestBuffer out = make_buffer(count * sizeof(float[3]));
      run_with(
         e2e::expand(R"(
#extension GL_NV_compute_shader_derivatives : require
layout(local_size_x = 4, local_size_y = 4) in;
layout(derivative_group_quadsNV) in;
layout(binding = 0) uniform $TYPE image;
layout(binding = 1) buffer Out { float data[]; };
void main()
{
   float texels = exp2(0.8 * gl_WorkGroupID.x - 1.5);
   vec2 at = (gl_LocalInvocationID.xy + 0.5) * texels * vec2(0.5, 1) / 64;
   uint id = gl_LocalInvocationIndex;
   float level = $SAMPLE.r * 255 / 32;
   vec2 query = $QUERY;
   uint i = (gl_WorkGroupID.x * 16 + gl_LocalInvocationIndex) * 3;
   data[i] = level;
   data[i + 1] = query.x;
   data[i + 2] = query.y;
})",
                     {{"TYPE", lookup.type}, {"SAMPLE", lookup.sample}, {"QUERY", lookup.query}}),
         view, out, {group_count, 1, 1}, sampler);
      std::vector<std::array<float, 3>> results(count);
      memcpy(results.data(), out.map, count * sizeof(float[3]));
      return results;
   }

   /// `bias` is the shader's, beside that of the sampler.
   void check_levels(const Lookup &lookup, VkImageView view, float bias = 0)
   {
      SCOPED_TRACE(lookup.sample);
      for (const bool levels_linear : {false, true}) {
         const auto results = look_up(lookup, view, make_level_sampler(levels_linear));
         for (size_t i = 0; i < results.size() && !HasFailure(); i++) {
            const float lod = lod_of(uint32_t(i / 16)) + 0.5f;
            const auto level = [&](float own_bias) {
               const float clamped = std::clamp(lod + own_bias, 0.5f, 4.0f);
               return levels_linear ? clamped : std::ceil(clamped + 0.5f) - 1;
            };
            EXPECT_NEAR(results[i][0], level(bias), 0.01) << i;
            EXPECT_NEAR(results[i][1], level(0), 0.001) << i;
            EXPECT_NEAR(results[i][2], lod, 0.001) << i;
         }
      }
   }
};

TEST_F(ImplicitLodTest, Planes)
{
   const VkImageView view = make_levels(VK_IMAGE_TYPE_2D, VK_IMAGE_VIEW_TYPE_2D, 1);
   const char *const query = "textureQueryLod(image, at)";
   check_levels({"sampler2D", "texture(image, at)", query}, view);
   check_levels({"sampler2D", "texture(image, at, 1.3)", query}, view, 1.3f);
   check_levels({"sampler2D", "textureOffset(image, at, ivec2(3, -2))", query}, view);
   // Gradients belong to the quotients.
   check_levels({"sampler2D", "textureProj(image, vec3(at, 1) * (id + 1))", query}, view);
}

/// Layers are no part of the gradients.
TEST_F(ImplicitLodTest, Layers)
{
   check_levels(
      {"sampler2DArray", "texture(image, vec3(at, id % 3))", "textureQueryLod(image, at)"},
      make_levels(VK_IMAGE_TYPE_2D, VK_IMAGE_VIEW_TYPE_2D_ARRAY, 3));
}

TEST_F(ImplicitLodTest, Cubes)
{
   check_levels({"samplerCube", "texture(image, vec3(1, at * 2 - 1))",
                 "textureQueryLod(image, vec3(1, at * 2 - 1))"},
                make_levels(VK_IMAGE_TYPE_2D, VK_IMAGE_VIEW_TYPE_CUBE, 6));
}

TEST_F(ImplicitLodTest, NullImagesHaveNoLevel)
{
   const auto results = look_up({"sampler2D", "texture(image, at)", "textureQueryLod(image, at)"},
                                VK_NULL_HANDLE, make_level_sampler(true));
   for (const auto &result : results)
      EXPECT_EQ(result, (std::array<float, 3>{}));
}

} // namespace weft::icd_test
