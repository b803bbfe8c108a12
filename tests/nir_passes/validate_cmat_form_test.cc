// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/cmat_marks.h"
#include "nir_passes/matrices/validate_cmat_form.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::has;

glsl_cmat_description matrix(glsl_cmat_use use, mesa_scope scope = SCOPE_SUBGROUP)
{
   glsl_cmat_description desc = {};
   desc.element_type = GLSL_TYPE_FLOAT;
   desc.scope = scope;
   desc.rows = 16;
   desc.cols = 16;
   desc.use = uint8_t(use);
   return desc;
}

struct Matrices : test::Built {
   nir_deref_instr *variable(const glsl_cmat_description &desc, const char *name)
   {
      return nir_build_deref_var(&b,
                                 nir_local_variable_create(b.impl, glsl_cmat_type(&desc), name));
   }
   nir_deref_instr *accumulator(const char *name)
   {
      return variable(matrix(GLSL_CMAT_USE_ACCUMULATOR), name);
   }
   /// A factor that is a workgroup's matrix.
   nir_deref_instr *workgroup_matrix()
   {
      nir_deref_instr *all = variable(matrix(GLSL_CMAT_USE_B), "all");
      weft_mark_workgroup_matrix(all->var);
      return all;
   }
   nir_deref_instr *buffer()
   {
      nir_def *number = nir_imm_ivec2(&b, 0, 0);
      return nir_build_deref_cast(&b, number, nir_var_mem_ssbo, glsl_uint_type(), 4);
   }
   void load(nir_deref_instr *result, glsl_matrix_layout layout, nir_def *stride)
   {
      _nir_build_cmat_load(&b, &result->def, &buffer()->def, stride,
                           {._ = 0, .matrix_layout = layout});
   }

   std::string breach(CmatStage stage) { return find_breach(shader.get(), stage); }
   /// The contract holds up to this stage, and not in the next one.
   void is_forbidden_after(CmatStage last, const std::string &message)
   {
      EXPECT_EQ(breach(last), "");
      EXPECT_TRUE(has(breach(CmatStage(uint8_t(last) + 1)), message))
         << breach(CmatStage(uint8_t(last) + 1));
      EXPECT_TRUE(has(breach(CmatStage::calls_expanded), message));
   }
};

TEST(ValidateCmatForm, AProductIsLegalEverywhere)
{
   Matrices m;
   nir_deref_instr *c = m.accumulator("c"), *a = m.variable(matrix(GLSL_CMAT_USE_A), "a"),
                   *b = m.variable(matrix(GLSL_CMAT_USE_B), "b");
   m.load(a, GLSL_MATRIX_LAYOUT_COLUMN_MAJOR, nir_load_subgroup_id(&m.b));
   nir_cmat_muladd(&m.b, &c->def, &a->def, &b->def, &c->def);
   EXPECT_EQ(m.breach(CmatStage::front_end), "");
   EXPECT_EQ(m.breach(CmatStage::inserts_lowered), "");
}

TEST(ValidateCmatForm, PackedPointersUntilTheyAreLowered)
{
   Matrices m;
   weft_pack_decode_pointer(&m.b, m.buffer());
   m.is_forbidden_after(CmatStage::inserts_lowered, "a decode function's pointer is packed");
   EXPECT_TRUE(has(m.breach(CmatStage::scope_lowered), "a decode function's pointer is packed"));
}

TEST(ValidateCmatForm, OtherNumbersMayBePacked)
{
   Matrices m;
   nir_pack_64_2x32(&m.b, nir_imm_ivec2(&m.b, 1, 2));
   EXPECT_EQ(m.breach(CmatStage::inserts_lowered), "");
}

TEST(ValidateCmatForm, WholeAccessesUntilTheyAreExpanded)
{
   Matrices m;
   _nir_build_cmat_load_blocked_weft(&m.b, &m.accumulator("c")->def, &m.buffer()->def,
                                     nir_imm_ivec2(&m.b, 0, 0),
                                     {._ = 0,
                                      .cmat_desc = matrix(GLSL_CMAT_USE_B, SCOPE_WORKGROUP),
                                      .matrix_layout = GLSL_MATRIX_LAYOUT_ROW_MAJOR});
   m.is_forbidden_after(CmatStage::scope_lowered, "cmat_load_blocked_weft is whole");
}

TEST(ValidateCmatForm, CallsUntilTheyAreExpanded)
{
   Matrices m;
   nir_def *c = &m.accumulator("c")->def;
   _nir_build_cmat_per_element_weft(&m.b, c, c, nir_undef(&m.b, 1, 32), nir_imm_ivec2(&m.b, 0, 0),
                                    {._ = 0, .callee = 0});
   m.is_forbidden_after(CmatStage::inserts_lowered, "cmat_per_element_weft is whole");
}

TEST(ValidateCmatForm, EveryAccessHasALayout)
{
   Matrices m;
   m.load(m.accumulator("c"), GLSL_MATRIX_LAYOUT_INHERITED, nir_imm_int(&m.b, 16));
   EXPECT_TRUE(has(m.breach(CmatStage::front_end), "cmat_load has no layout"));
}

TEST(ValidateCmatForm, WorkgroupsMatricesUntilTheyAreCut)
{
   Matrices m;
   m.variable(matrix(GLSL_CMAT_USE_A, SCOPE_WORKGROUP), "a");
   m.is_forbidden_after(CmatStage::front_end, "a is a matrix of another scope");
   Matrices length;
   _nir_build_cmat_length(&length.b,
                          {._ = 0, .cmat_desc = matrix(GLSL_CMAT_USE_A, SCOPE_WORKGROUP)});
   length.is_forbidden_after(CmatStage::front_end, "cmat_length is a matrix of another");
}

TEST(ValidateCmatForm, OneMatrixOfTheWorkgroupIsBOfProducts)
{
   Matrices m;
   nir_deref_instr *all = m.workgroup_matrix(), *c = m.accumulator("c"),
                   *a = m.variable(matrix(GLSL_CMAT_USE_A), "a"),
                   *b = m.variable(matrix(GLSL_CMAT_USE_B), "b");
   nir_cmat_insert_columns_weft(&m.b, &all->def, &b->def, nir_imm_int(&m.b, 0));
   nir_cmat_muladd(&m.b, &c->def, &a->def, &all->def, &c->def);
   EXPECT_EQ(m.breach(CmatStage::inserts_lowered), "");
   EXPECT_TRUE(has(m.breach(CmatStage::front_end), "all is marked"));
   nir_cmat_copy(&m.b, &b->def, &all->def);
   EXPECT_TRUE(has(m.breach(CmatStage::inserts_lowered), "cmat_copy reads or writes"));
}

TEST(ValidateCmatForm, DecorationsAreNoMarks)
{
   Matrices m;
   m.workgroup_matrix();
   EXPECT_NE(m.breach(CmatStage::front_end), "");
   EXPECT_TRUE(weft_clear_decorations(m.shader.get()));
   EXPECT_EQ(m.breach(CmatStage::front_end), "");
   EXPECT_FALSE(weft_clear_decorations(m.shader.get()));
}

TEST(ValidateCmatForm, ColumnsAreWrittenToTheWorkgroupsMatrix)
{
   Matrices m;
   nir_deref_instr *b = m.variable(matrix(GLSL_CMAT_USE_B), "b"),
                   *other = m.variable(matrix(GLSL_CMAT_USE_B), "other");
   nir_cmat_insert_columns_weft(&m.b, &other->def, &b->def, nir_imm_int(&m.b, 0));
   EXPECT_TRUE(has(m.breach(CmatStage::scope_lowered), "a matrix that is not the workgroup's"));
}

TEST(ValidateCmatForm, ComponentsAreReplacedInPlaceInTheEnd)
{
   Matrices m;
   nir_deref_instr *c = m.accumulator("c"), *d = m.accumulator("d");
   nir_cmat_insert(&m.b, &d->def, nir_imm_float(&m.b, 1), &c->def, nir_imm_int(&m.b, 0));
   m.is_forbidden_after(CmatStage::accesses_lowered, "cmat_insert writes another matrix");
}

} // namespace
} // namespace weft
