// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Formats of texels as plain data, and texel buffers that become buffers. The tests of the driver
/// compare results with the oracle.

#include "nir_passes/images/lower_images.h"

#include "nir_passes/images/texel_descriptor.h"
#include "nir_passes/memory/lower_descriptors.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(TexelFormats, AreFields)
{
   const std::optional<TexelFormat> rgba = texel_format(PIPE_FORMAT_R8G8B8A8_SNORM);
   ASSERT_TRUE(rgba);
   EXPECT_EQ(*rgba, (TexelFormat{
                       4, TexelNumbers::normalized, 1, 0, {{{0, 8}, {8, 8}, {16, 8}, {24, 8}}}}));
   const std::optional<TexelFormat> bgra = texel_format(PIPE_FORMAT_B8G8R8A8_UNORM);
   ASSERT_TRUE(bgra);
   EXPECT_EQ(*bgra, (TexelFormat{
                       4, TexelNumbers::normalized, 0, 0, {{{16, 8}, {8, 8}, {0, 8}, {24, 8}}}}));
   const std::optional<TexelFormat> packed = texel_format(PIPE_FORMAT_R11G11B10_FLOAT);
   ASSERT_TRUE(packed);
   EXPECT_EQ(*packed,
             (TexelFormat{4, TexelNumbers::floating, 0, 1, {{{0, 11}, {11, 11}, {22, 10}, {}}}}));
   const std::optional<TexelFormat> wide = texel_format(PIPE_FORMAT_R32G32_SINT);
   ASSERT_TRUE(wide);
   EXPECT_EQ(*wide, (TexelFormat{8, TexelNumbers::integer, 1, 1, {{{0, 32}, {32, 32}, {}, {}}}}));
   EXPECT_TRUE(may_store(*wide));
   EXPECT_FALSE(is_wide(*wide));
   const TexelFormat one = *texel_format(PIPE_FORMAT_R64_SINT);
   EXPECT_EQ(one, (TexelFormat{8, TexelNumbers::integer, 1, 1, {{{0, 64}, {}, {}, {}}}}));
   EXPECT_TRUE(is_wide(one) && may_store(one));
   const TexelFormat four = *texel_format(PIPE_FORMAT_R64G64B64A64_UINT);
   EXPECT_EQ(
      four,
      (TexelFormat{32, TexelNumbers::integer, 0, 0, {{{0, 64}, {64, 64}, {128, 64}, {192, 64}}}}));
   EXPECT_TRUE(is_wide(four) && may_store(four));
   EXPECT_FALSE(may_store(*texel_format(PIPE_FORMAT_R8_USCALED)));
   EXPECT_FALSE(may_store(*texel_format(PIPE_FORMAT_L8_UNORM))); // R, G and B are one field
}

TEST(TexelFormats, OnlyReadByShaders)
{
   const TexelFormat depth = *texel_format(PIPE_FORMAT_Z16_UNORM);
   EXPECT_EQ(depth, (TexelFormat{2, TexelNumbers::normalized, 0, 1, {{{0, 16}, {}, {}, {}}}}));
   EXPECT_EQ(texel_format(PIPE_FORMAT_Z32_FLOAT)->numbers, TexelNumbers::floating);
   const TexelFormat depth24 = *texel_format(PIPE_FORMAT_Z24X8_UNORM);
   EXPECT_EQ(depth24, (TexelFormat{4, TexelNumbers::normalized, 0, 1, {{{0, 24}, {}, {}, {}}}}));
   EXPECT_FALSE(texel_format(PIPE_FORMAT_Z24_UNORM_S8_UINT));
   EXPECT_FALSE(texel_format(PIPE_FORMAT_R32_UNORM));
   const TexelFormat srgb = *texel_format(PIPE_FORMAT_B8G8R8A8_SRGB);
   EXPECT_EQ(srgb,
             (TexelFormat{4, TexelNumbers::srgb, 0, 0, {{{16, 8}, {8, 8}, {0, 8}, {24, 8}}}}));
   EXPECT_FALSE(may_store(srgb));
   const TexelFormat shared = *texel_format(PIPE_FORMAT_R9G9B9E5_FLOAT);
   EXPECT_EQ(shared, (TexelFormat{
                        4, TexelNumbers::shared_exponent, 0, 1, {{{0, 9}, {9, 9}, {18, 9}, {}}}}));
   EXPECT_FALSE(may_store(shared));
}

TEST(TexelFormats, Blocks)
{
   const TexelFormat bc1 = *texel_format(PIPE_FORMAT_DXT1_RGB);
   EXPECT_EQ(bc1, (TexelFormat{8, TexelNumbers::block, 0, 1, {{{0, 8}, {0, 8}, {0, 8}, {}}}}));
   EXPECT_EQ(texel_side(bc1), 4u);
   EXPECT_FALSE(may_store(bc1));
   const TexelFormat bc7 = *texel_format(PIPE_FORMAT_BPTC_SRGBA);
   EXPECT_EQ(bc7.texel_bytes, 16);
   EXPECT_EQ(bc7.alpha_is_one, 0);
   EXPECT_EQ(block_format(bc7.fields[0].first), PIPE_FORMAT_BPTC_SRGBA);
   EXPECT_EQ(block_format(~0u), PIPE_FORMAT_NONE);
   EXPECT_EQ(texel_side(*texel_format(PIPE_FORMAT_R8_UNORM)), 1u);
}

TEST(TexelFormats, OthersHaveNone)
{
   for (const enum pipe_format format :
        {PIPE_FORMAT_NONE, PIPE_FORMAT_S8_UINT, PIPE_FORMAT_Z24_UNORM_S8_UINT,
         PIPE_FORMAT_ETC2_RGB8, PIPE_FORMAT_ASTC_4x4, PIPE_FORMAT_R64_FLOAT,
         PIPE_FORMAT_R64G64_FLOAT, PIPE_FORMAT_R64G64B64_UINT, PIPE_FORMAT_R8G8B8_UNORM,
         PIPE_FORMAT_R32_UNORM})
      EXPECT_FALSE(texel_format(format)) << format;
}

constexpr BindingLayout bindings[] = {{0, 0, 0, 0, sizeof(TexelDescriptor), 1, false},
                                      {0, 1, 0, 32, 16, 1, false}};

TEST(LowerImages, BarriersForImagesAreForBuffers)
{
   Shader shader = test::translate("layout(binding = 0, r32ui) coherent uniform uimageBuffer t;\n"
                                   "void main()\n"
                                   "{\n"
                                   "   imageStore(t, 0, uvec4(1));\n"
                                   "   memoryBarrierImage();\n"
                                   "   imageStore(t, 1, imageLoad(t, 0));\n"
                                   "}",
                                   Consumer::cpu, 32);
   const Result<bool> result = lower_images(shader.get(), bindings, false);
   ASSERT_TRUE(result) << result.error().message;
   EXPECT_TRUE(*result);
   unsigned barriers = 0;
   nir_foreach_block(block, nir_shader_get_entrypoint(shader.get())) {
      nir_foreach_instr(instr, block) {
         ASSERT_NE(instr->type, nir_instr_type_tex);
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         nir_intrinsic_instr *intr = nir_instr_as_intrinsic(instr);
         ASSERT_FALSE(nir_intrinsic_has_image_dim(intr));
         if (intr->intrinsic != nir_intrinsic_barrier)
            continue;
         ++barriers;
         EXPECT_TRUE(nir_intrinsic_memory_modes(intr) & nir_var_mem_ssbo);
      }
   }
   EXPECT_GE(barriers, 1u);
}

/// Only images that may be partially resident have a branch between two layouts.
TEST(LowerImages, TilesAreABranch)
{
   const auto branches = [](const char *type, const char *coordinates, size_t descriptor,
                            bool may_have_tiles) {
      Shader shader = test::translate(std::string("layout(binding = 2, r32ui) uniform ") + type +
                                         " image;\n"
                                         "void main() { imageStore(image, " +
                                         coordinates + ", uvec4(1)); }",
                                      Consumer::cpu, 32);
      const BindingLayout layout = {0, 2, 0, 0, uint32_t(descriptor), 1, false};
      EXPECT_TRUE(lower_images(shader.get(), {&layout, 1}, may_have_tiles));
      nir_validate_shader(shader.get(), type);
      unsigned count = 0;
      foreach_list_typed(nir_cf_node, node, node, &nir_shader_get_entrypoint(shader.get())->body)
         count += node->type == nir_cf_node_if;
      unsigned stores = 0;
      nir_foreach_block(block, nir_shader_get_entrypoint(shader.get())) {
         nir_foreach_instr(instr, block) {
            stores += instr->type == nir_instr_type_intrinsic &&
                      nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_store_ssbo;
         }
      }
      EXPECT_EQ(count, 1u);
      return stores;
   };
   EXPECT_EQ(branches("uimage2D", "ivec2(0)", sizeof(ImageDescriptor), false), 1u);
   EXPECT_EQ(branches("uimage2D", "ivec2(0)", sizeof(ImageDescriptor), true), 2u);
   EXPECT_EQ(branches("uimage3D", "ivec3(0)", sizeof(ImageDescriptor), true), 2u);
   EXPECT_EQ(branches("uimage1D", "0", sizeof(ImageDescriptor), true), 1u);
   EXPECT_EQ(branches("uimageBuffer", "0", sizeof(TexelDescriptor), true), 1u);
}

TEST(LowerImages, ResidencyIsNumbers)
{
   Shader shader =
      test::translate("#extension GL_ARB_sparse_texture2 : require\n"
                      "layout(binding = 2, r32ui) uniform uimage2D image;\n"
                      "void main()\n"
                      "{\n"
                      "   uvec4 texel;\n"
                      "   const int code = sparseImageLoadARB(image, ivec2(0), texel);\n"
                      "   if (sparseTexelsResidentARB(code))\n"
                      "      imageStore(image, ivec2(1), texel);\n"
                      "}",
                      Consumer::cpu, 32);
   const BindingLayout layout = {0, 2, 0, 48, sizeof(ImageDescriptor), 1, false};
   const Result<bool> result = lower_images(shader.get(), {&layout, 1}, false);
   ASSERT_TRUE(result) << result.error().message;
   nir_validate_shader(shader.get(), "residency");
   unsigned lookups = 0;
   nir_foreach_block(block, nir_shader_get_entrypoint(shader.get())) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic)
            continue;
         const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
         EXPECT_NE(op, nir_intrinsic_is_sparse_texels_resident);
         EXPECT_NE(op, nir_intrinsic_image_deref_sparse_load);
         lookups += op == nir_intrinsic_is_sparse_resident_zink;
      }
   }
   EXPECT_EQ(lookups, 1u);
}

/// Code that no invocation reaches must not read a descriptor that the set may lack.
TEST(LowerImages, DescriptorsMayBeAbsent)
{
   for (const bool variable : {false, true}) {
      Shader shader = test::translate("layout(binding = 0, r32ui) uniform uimageBuffer t[9];\n"
                                      "void main() { imageStore(t[3], 0, uvec4(1)); }",
                                      Consumer::cpu, 32);
      const BindingLayout array = {0, 0, 2, 64, sizeof(TexelDescriptor), 9, false, variable};
      ASSERT_TRUE(lower_images(shader.get(), {&array, 1}, false));
      while (nir_opt_constant_folding(shader.get()) || nir_copy_prop(shader.get())) {
      }
      unsigned stores = 0;
      nir_foreach_block(block, nir_shader_get_entrypoint(shader.get())) {
         nir_foreach_instr(instr, block) {
            if (instr->type != nir_instr_type_intrinsic ||
                nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_store_ssbo)
               continue;
            const nir_src &index = nir_instr_as_intrinsic(instr)->src[1];
            ASSERT_TRUE(nir_src_is_const(index));
            EXPECT_EQ(nir_src_comp_as_uint(index, 0), 2 | (variable ? optional_slot : 0));
            EXPECT_EQ(nir_src_comp_as_uint(index, 1), 64 + 3 * sizeof(TexelDescriptor));
            ++stores;
         }
      }
      EXPECT_EQ(stores, 1u);
   }
}

TEST(LowerImages, OthersAreRefused)
{
   const auto error_of = [](const std::string &glsl) {
      Shader shader = test::translate(glsl, Consumer::cpu, 32);
      const Result<bool> result = lower_images(shader.get(), bindings, false);
      return result ? "" : result.error().message;
   };
   EXPECT_EQ(error_of("layout(binding = 0, r32ui) uniform uimageBuffer t;\n"
                      "void main() { imageStore(t, 0, uvec4(1)); }"),
             "");
   EXPECT_EQ(error_of("layout(binding = 1, r32ui) uniform uimageBuffer t;\n"
                      "void main() { imageStore(t, 0, uvec4(1)); }"),
             "the binding 1 of the descriptor set 0 is not a texel buffer");
   EXPECT_EQ(error_of("layout(binding = 2, r32ui) uniform uimageBuffer t;\n"
                      "void main() { imageStore(t, 0, uvec4(1)); }"),
             "the shader uses the binding 2 of the descriptor set 0, which the pipeline layout "
             "lacks");
   EXPECT_EQ(error_of("layout(binding = 0, r32ui) uniform uimage2D i;\n"
                      "void main() { imageStore(i, ivec2(0), uvec4(1)); }"),
             "the binding 0 of the descriptor set 0 is not a storage image");
}

} // namespace
} // namespace weft
