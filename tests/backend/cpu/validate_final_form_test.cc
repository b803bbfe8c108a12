// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The forms that the validator refuses. alu_test and similar tests check the translation of all
/// other forms.

#include "backend/cpu/codegen/passes/validate_final_form.h"

#include "nir_passes/matrices/cmat_marks.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

namespace test = weft::test;

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

/// Only factors are shared tiles.
TEST_F(FinalFormTest, AccumulatorsInSharedMemory)
{
   nir_def *tile = nir_imm_int(b, 0), *shared = nir_imm_int64(b, 0);
   const auto muladd = [&](nir_def *factors, nir_def *sums) {
      _nir_build_tile_muladd_weft(b, sums, factors, factors, sums,
                                  {._ = 0,
                                   .cmat_desc = {},
                                   .a_cmat_desc = {},
                                   .b_cmat_desc = {},
                                   .c_cmat_desc = {},
                                   .saturate = false,
                                   .cmat_signed_mask = nir_cmat_signed(0)});
   };
   muladd(shared, tile);
   EXPECT_EQ(objection(), "");
   muladd(tile, shared);
   EXPECT_EQ(objection(), "the intrinsic tile_muladd_weft with an accumulator in shared memory is "
                          "not supported");
}

TEST(PrivateMemory, HasOneType)
{
   test::Built shader;
   nir_builder *b = &shader.b;
   nir_variable *array =
      nir_local_variable_create(b->impl, glsl_array_type(glsl_uint_type(), 4, 0), "array");
   nir_deref_instr *element = nir_build_deref_array_imm(b, nir_build_deref_var(b, array), 1);
   nir_store_deref(b, element, nir_imm_int(b, 1), 1);
   EXPECT_TRUE(validate_private_memory(b->shader));
   nir_deref_instr *half =
      nir_build_deref_cast(b, &element->def, nir_var_function_temp, glsl_uint16_t_type(), 2);
   nir_store_deref(b, half, nir_imm_intN_t(b, 1, 16), 1);
   const Result<bool> other = validate_private_memory(b->shader);
   ASSERT_FALSE(other);
   EXPECT_EQ(other.error().message, "private memory accessed as another type is not supported");
}

} // namespace
} // namespace weft::cpu
