// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Instructions that return the residency of texels (shaderResourceResidency), and samples with a
/// least level of detail (shaderResourceMinLod).

#include "tests/icd/sparse_fixture.h"
#include "tests/spirv/assemble.h"

#include <algorithm>

namespace weft::icd_test {

namespace {

/// A function that samples and returns a color, or another one if a texel is not resident.
std::string sparse_sampler(const std::string &result, const std::string &call)
{
   return "vec4 sparse(vec4 at, vec4 more, vec4 dx, vec4 dy)\n"
          "{\n"
          "   " +
          result +
          " color;\n"
          "   const int code = " +
          call +
          ";\n"
          "   return sparseTexelsResidentARB(code) ? vec4(color) : vec4(-77);\n"
          "}\n";
}

constexpr const char *call_sparse = "sparse(at, more, dx, dy)";

} // namespace

class ResidencyTest : public SparseTest {
protected:
   /// Binds random pages of the buffer to memory that is filled with 9, and unbinds others.
   void bind_at_random(VkBuffer buffer, const Memory &memory, std::vector<bool> *bound)
   {
      std::vector<VkSparseMemoryBind> parts;
      for (int i = 0; i < 5; ++i) {
         const auto at = uint32_t(random() % bound->size());
         const uint32_t pages = 1 + uint32_t(random() % (bound->size() - at));
         const bool is_bound = random() % 2;
         parts.push_back(is_bound ? part(at, pages, memory) : part(at, pages));
         std::fill_n(bound->begin() + at, pages, is_bound);
      }
      bind(buffer, parts);
   }

   /// A shader that reads texels of a buffer as vectors of u32. GLSL has no such function for
   /// texel buffers.
   static std::string shader_of(bool is_storage)
   {
      const std::string kind = is_storage ? "2" : "1", usage = is_storage ? "Read" : "Fetch";
      return std::string("OpCapability Shader\n"
                         "OpCapability SparseResidency\n") +
             (is_storage ? "OpCapability ImageBuffer\n"
                           "OpCapability StorageImageReadWithoutFormat\n"
                         : "OpCapability SampledBuffer\n") +
             "OpMemoryModel Logical GLSL450\n"
             "OpEntryPoint GLCompute %main \"main\" %id %image %out\n"
             "OpExecutionMode %main LocalSize 64 1 1\n"
             "OpDecorate %id BuiltIn GlobalInvocationId\n"
             "OpDecorate %image DescriptorSet 0\n"
             "OpDecorate %image Binding 0\n"
             "OpDecorate %out DescriptorSet 0\n"
             "OpDecorate %out Binding 1\n"
             "OpDecorate %words ArrayStride 8\n"
             "OpDecorate %block Block\n"
             "OpMemberDecorate %block 0 Offset 0\n"
             "%void = OpTypeVoid\n"
             "%function = OpTypeFunction %void\n"
             "%u32 = OpTypeInt 32 0\n"
             "%bool = OpTypeBool\n"
             "%zero = OpConstant %u32 0\n"
             "%one = OpConstant %u32 1\n"
             "%uvec2 = OpTypeVector %u32 2\n"
             "%uvec3 = OpTypeVector %u32 3\n"
             "%uvec4 = OpTypeVector %u32 4\n"
             "%id_pointer = OpTypePointer Input %uvec3\n"
             "%id = OpVariable %id_pointer Input\n"
             "%texels = OpTypeImage %u32 Buffer 0 0 0 " +
             kind +
             " Unknown\n"
             "%texels_pointer = OpTypePointer UniformConstant %texels\n"
             "%image = OpVariable %texels_pointer UniformConstant\n"
             "%words = OpTypeRuntimeArray %uvec2\n"
             "%block = OpTypeStruct %words\n"
             "%block_pointer = OpTypePointer StorageBuffer %block\n"
             "%out = OpVariable %block_pointer StorageBuffer\n"
             "%word_pointer = OpTypePointer StorageBuffer %uvec2\n"
             "%sparse = OpTypeStruct %u32 %uvec4\n"
             "%main = OpFunction %void None %function\n"
             "%label = OpLabel\n"
             "%ids = OpLoad %uvec3 %id\n"
             "%i = OpCompositeExtract %u32 %ids 0\n"
             "%loaded = OpLoad %texels %image\n"
             "%both = OpImageSparse" +
             usage +
             " %sparse %loaded %i\n"
             "%code = OpCompositeExtract %u32 %both 0\n"
             "%texel = OpCompositeExtract %u32 %both 1 0\n"
             "%resident = OpImageSparseTexelsResident %bool %code\n"
             "%flag = OpSelect %u32 %resident %one %zero\n"
             "%result = OpCompositeConstruct %uvec2 %flag %texel\n"
             "%to = OpAccessChain %word_pointer %out %zero %i\n"
             "OpStore %to %result\n"
             "OpReturn\n"
             "OpFunctionEnd\n";
   }

   Program make_texel_program(bool is_storage)
   {
      const VkDescriptorType type = is_storage ? storage_texels : uniform_texels;
      PipelineRecipe recipe;
      recipe.sets = {
         make_set_layout({binding(0, type), binding(1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
      Program program = {make_layout(recipe), recipe.sets[0], VK_NULL_HANDLE, type};
      EXPECT_VK(try_pipeline(test::assemble(shader_of(is_storage)), recipe, program.layout,
                             &program.pipeline));
      return program;
   }

   /// Compares the residency of all texels with the pages that are bound.
   void check_texels(bool is_storage, VkFormat format, uint32_t texel_bytes)
   {
      constexpr uint32_t pages = 12;
      const Program program = make_texel_program(is_storage);
      const VkBuffer buffer = make_kept_buffer(pages);
      const Memory memory = allocate(pages, 9);
      const VkDeviceSize offset = 16 * texel_bytes;
      const auto texels = uint32_t((pages * page - offset) / texel_bytes);
      const VkBufferView view = make_texel_view(buffer, format, offset, texels * texel_bytes);
      std::vector<bool> bound(pages);
      for (int round = 0; round < 4; ++round) {
         bind_at_random(buffer, memory, &bound);
         // The last texels are outside of the view.
         const uint32_t groups = texels / 64 + 2;
         const TestBuffer out = make_random_buffer(groups * 64 * 8);
         run_program(program, view, {out}, groups);
         for (uint32_t i = 0; i < groups * 64; ++i) {
            const uint64_t first = offset + uint64_t(i) * texel_bytes,
                           last = first + texel_bytes - 1;
            const bool is_inside = i < texels,
                       resident = !is_inside || (bound[first / page] && bound[last / page]);
            const uint32_t texel = is_inside && bound[first / page] ? 9 : 0;
            ASSERT_EQ(out.as()[2 * i], uint32_t(resident)) << "texel " << i << " of " << texels;
            ASSERT_EQ(out.as()[2 * i + 1], texel) << "texel " << i;
         }
      }
   }
};

TEST_F(ResidencyTest, TexelBuffers)
{
   check_texels(false, VK_FORMAT_R32_UINT, 4);
   check_texels(false, VK_FORMAT_R32G32B32A32_UINT, 16);
}

/// A texel of 12 bytes may be in two pages.
TEST_F(ResidencyTest, TexelsInTwoPages)
{
   check_texels(false, VK_FORMAT_R32G32B32_UINT, 12);
}

TEST_F(ResidencyTest, StorageTexelBuffers)
{
   check_texels(true, VK_FORMAT_R32_UINT, 4);
}

/// The same color as without residency, and every texel is resident.
TEST_F(ResidencyTest, Samples)
{
   check(kind_2d,
         {.expression = call_sparse,
          .head = sparse_sampler("vec4", "sparseTextureLodARB(image, at.xy, more.x, color)")},
         filtered_formats());
   check(kind_cube_array,
         {.expression = call_sparse,
          .has_lod = false,
          .head = sparse_sampler("vec4", "sparseTextureARB(image, at, color)")},
         filtered_formats());
   check(kind_3d,
         {.expression = call_sparse,
          .has_lod = false,
          .has_gradients = true,
          .head =
             sparse_sampler("vec4", "sparseTextureGradARB(image, at.xyz, dx.xyz, dy.xyz, color)")},
         filtered_formats());
   check(kind_2d,
         {.expression = call_sparse,
          .head = sparse_sampler("vec4", "sparseTextureLodARB(image, at.xy, more.x, color)")},
         compressed_formats());
}

TEST_F(ResidencyTest, ComparisonsAndGathers)
{
   check(kind_2d,
         {.expression = call_sparse,
          .compares = true,
          .head = sparse_sampler("float",
                                 "sparseTextureLodARB(image, vec3(at.xy, more.y), more.x, color)")},
         depth_formats());
   check(kind_2d,
         {.expression = call_sparse,
          .gathered = 2,
          .head = sparse_sampler("vec4", "sparseTextureGatherARB(image, at.xy, color, 2)")},
         filtered_formats());
}

TEST_F(ResidencyTest, FetchesAndLoads)
{
   const TestImage image = make_image(
      {.extent = {5, 3, 1}, .usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_SAMPLED_BIT});
   const TestBuffer texels = make_random_buffer(5 * 3 * 4);
   fill(image, texels);
   const VkImageView view = make_image_view(image, VK_IMAGE_VIEW_TYPE_2D);
   const auto shader = [](const std::string &call) {
      return "layout(local_size_x = 8, local_size_y = 4) in;\n"
             "layout(binding = 1) buffer Out { uvec2 results[4][8]; };\n"
             "void main()\n"
             "{\n"
             "   const ivec2 at = ivec2(gl_LocalInvocationID.xy);\n"
             "   uvec4 texel;\n"
             "   const int code = " +
             call +
             ";\n"
             "   results[at.y][at.x] = uvec2(sparseTexelsResidentARB(code), texel.x);\n"
             "}";
   };
   const std::string extension = "#extension GL_ARB_sparse_texture2 : require\n";
   for (const bool is_load : {false, true}) {
      const TestBuffer out = make_random_buffer(8 * 4 * 8);
      if (is_load)
         run_shader(extension + "layout(binding = 0, r32ui) uniform uimage2D image;\n" +
                       shader("sparseImageLoadARB(image, at, texel)"),
                    {view}, {out});
      else
         run_with(extension + "layout(binding = 0) uniform usampler2D image;\n" +
                     shader("sparseTexelFetchARB(image, at, 0, texel)"),
                  view, out, {1, 1, 1}, make_sampler({}, VK_BORDER_COLOR_INT_OPAQUE_BLACK));
      for (uint32_t y = 0; y < 4; ++y) {
         for (uint32_t x = 0; x < 8; ++x) {
            const bool is_inside = x < 5 && y < 3;
            EXPECT_EQ(out.as()[(y * 8 + x) * 2], 1u) << x << ", " << y;
            EXPECT_EQ(out.as()[(y * 8 + x) * 2 + 1], is_inside ? texels.as()[y * 5 + x] : 0u);
         }
      }
   }
}

/// Each level is filled with its number.
TEST_F(ResidencyTest, LeastLevels)
{
   constexpr uint32_t levels = 5;
   const TestImage image = make_image({.format = VK_FORMAT_R32_SFLOAT,
                                       .extent = {16, 16, 1},
                                       .levels = levels,
                                       .usage = VK_IMAGE_USAGE_SAMPLED_BIT});
   for (uint32_t level = 0; level < levels; ++level) {
      const std::vector<float> texels(image.extent(level).width * image.extent(level).height,
                                      float(level));
      fill(image, make_buffer(texels.size() * 4, texels.data()), level);
   }
   const VkImageView view = make_image_view(image, VK_IMAGE_VIEW_TYPE_2D, 0, 0, 1, levels);
   const oracle::SamplerState state = {.magnified_linear = true,
                                       .minified_linear = true,
                                       .levels_linear = true,
                                       .least_lod = 0.5,
                                       .largest_lod = 3};
   const VkSampler sampler = make_sampler(state, VK_BORDER_COLOR_FLOAT_OPAQUE_BLACK);
   constexpr uint32_t count = 64;
   const TestBuffer out = make_random_buffer(count * 8);
   // Gradients of 4 texels are level 2.
   run_with("#extension GL_ARB_sparse_texture2 : require\n"
            "#extension GL_ARB_sparse_texture_clamp : require\n"
            "layout(local_size_x = 64) in;\n"
            "layout(binding = 0) uniform sampler2D image;\n"
            "layout(binding = 1) buffer Out { vec2 results[]; };\n"
            "void main()\n"
            "{\n"
            "   const float least = gl_LocalInvocationIndex / 16.0;\n"
            "   const vec2 at = vec2(0.5), dx = vec2(4.0 / 16, 0), dy = vec2(0, 4.0 / 16);\n"
            "   vec4 color;\n"
            "   const int code = sparseTextureGradClampARB(image, at, dx / 256, dy / 256, least, "
            "color);\n"
            "   results[gl_LocalInvocationIndex] = vec2(\n"
            "      textureGradClampARB(image, at, dx, dy, least).x,\n"
            "      sparseTexelsResidentARB(code) ? color.x : -1);\n"
            "}",
            view, out, {1, 1, 1}, sampler);
   for (uint32_t i = 0; i < count; ++i) {
      const float least = float(i) / 16;
      EXPECT_FLOAT_EQ(out.as<float>()[2 * i], std::min(std::max(2.0f, least), 3.0f)) << least;
      EXPECT_FLOAT_EQ(out.as<float>()[2 * i + 1], std::min(std::max(0.5f, least), 3.0f)) << least;
   }
}

} // namespace weft::icd_test
