// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What a back end for machines need not expect.  That it translates the rest is the back end's
/// test.

#include "nir_passes/validate_final_form.h"

#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

class FinalFormTest : public testing::Test {
protected:
   test::Built built;
   nir_builder *b = &built.b;
   nir_def *number = nir_load_subgroup_invocation(b);

   std::string objection()
   {
      Result<bool> valid = validate_final_form(built.shader.get());
      return valid ? "" : valid.error().message;
   }
};

TEST_F(FinalFormTest, ScalarsMovesVectorsPhis)
{
   nir_def *x = nir_u2f32(b, number);
   nir_push_if(b, nir_flt_imm(b, x, 3));
   nir_def *y = nir_fsqrt(b, x);
   nir_pop_if(b, nullptr);
   nir_vec4(b, nir_if_phi(b, y, x), x, x, nir_undef(b, 1, 32));
   nir_push_loop(b);
   nir_jump(b, nir_jump_break);
   nir_pop_loop(b, nullptr);
   EXPECT_EQ(objection(), "");
}

TEST_F(FinalFormTest, OperationsOfVectors)
{
   nir_iadd(b, nir_vec2(b, number, number), nir_imm_ivec2(b, 1, 2));
   EXPECT_EQ(objection(), "the operation iadd of vectors is not supported");
}

TEST_F(FinalFormTest, OperationsThatAreLoweredBefore)
{
   nir_fsat(b, nir_u2f32(b, number));
   EXPECT_EQ(objection(), "the operation fsat of 32 bits is not supported");
}

TEST_F(FinalFormTest, OperationsThatExistAtOtherSizes)
{
   nir_fsin(b, nir_u2f16(b, number));
   EXPECT_EQ(objection(), "the operation fsin of 16 bits is not supported");
}

TEST_F(FinalFormTest, IntrinsicsThatAreLoweredBefore)
{
   nir_load_local_invocation_index(b);
   EXPECT_EQ(objection(), "the intrinsic load_local_invocation_index is not supported");
}

TEST_F(FinalFormTest, Variables)
{
   nir_variable *v = nir_local_variable_create(b->impl, glsl_uint_type(), "v");
   nir_build_deref_var(b, v);
   EXPECT_EQ(objection(),
             "a pointer to a variable that is neither memory nor a value is not supported");
}

TEST_F(FinalFormTest, JumpsOutOfTheFunction)
{
   nir_jump(b, nir_jump_return);
   EXPECT_EQ(objection(), "a jump other than break and continue is not supported");
}

TEST_F(FinalFormTest, Images)
{
   nir_tex_instr *tex = nir_tex_instr_create(b->shader, 0);
   tex->op = nir_texop_txs;
   tex->dest_type = nir_type_int32;
   nir_def_init(&tex->instr, &tex->def, 2, 32);
   nir_builder_instr_insert(b, &tex->instr);
   EXPECT_EQ(objection(), "sampled images are not supported");
}

} // namespace
} // namespace weft
