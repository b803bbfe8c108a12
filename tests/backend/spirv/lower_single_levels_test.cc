// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/passes/lower_single_levels.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// A fetch from an image, with a coordinate and a level of detail.
nir_tex_instr *fetch(nir_builder *b, glsl_sampler_dim dim)
{
   nir_variable *image = nir_variable_create(
      b->shader, nir_var_uniform, glsl_sampler_type(dim, false, false, GLSL_TYPE_FLOAT), "image");
   nir_tex_instr *tex = nir_tex_instr_create(b->shader, 3);
   tex->op = nir_texop_txf;
   tex->sampler_dim = dim;
   tex->dest_type = nir_type_float32;
   tex->coord_components = 1;
   tex->src[0] =
      nir_tex_src_for_ssa(nir_tex_src_texture_deref, &nir_build_deref_var(b, image)->def);
   tex->src[1] = nir_tex_src_for_ssa(nir_tex_src_lod, nir_imm_int(b, 0));
   tex->src[2] = nir_tex_src_for_ssa(nir_tex_src_coord, nir_imm_int(b, 7));
   nir_def_init(&tex->instr, &tex->def, 4, 32);
   nir_builder_instr_insert(b, &tex->instr);
   return tex;
}

TEST(LowerSingleLevels, RemovesTheLevelOfBuffersAndMultisampledImages)
{
   for (const glsl_sampler_dim dim : {GLSL_SAMPLER_DIM_BUF, GLSL_SAMPLER_DIM_MS}) {
      test::Built built;
      const nir_tex_instr *tex = fetch(&built.b, dim);
      EXPECT_TRUE(spirv::lower_single_levels(built.shader.get()));
      EXPECT_LT(nir_tex_instr_src_index(tex, nir_tex_src_lod), 0);
      EXPECT_EQ(nir_src_as_uint(tex->src[nir_tex_instr_src_index(tex, nir_tex_src_coord)].src), 7u);
      EXPECT_FALSE(spirv::lower_single_levels(built.shader.get()));
   }
}

TEST(LowerSingleLevels, KeepsTheLevelOfOtherImages)
{
   test::Built built;
   const nir_tex_instr *tex = fetch(&built.b, GLSL_SAMPLER_DIM_2D);
   EXPECT_FALSE(spirv::lower_single_levels(built.shader.get()));
   EXPECT_GE(nir_tex_instr_src_index(tex, nir_tex_src_lod), 0);
}

} // namespace
} // namespace weft
