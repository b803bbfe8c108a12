// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// Two matrices, and an array of two.
struct Matrices : test::Built {
   Matrices()
   {
      glsl_cmat_description desc = {};
      desc.element_type = GLSL_TYPE_FLOAT;
      desc.scope = SCOPE_SUBGROUP;
      desc.rows = 16;
      desc.cols = 16;
      desc.use = GLSL_CMAT_USE_ACCUMULATOR;
      const glsl_type *type = glsl_cmat_type(&desc);
      x = variable(type, "x");
      y = variable(type, "y");
      array = variable(glsl_array_type(type, 2, 0), "array");
   }

   nir_deref_instr *variable(const glsl_type *type, const char *name)
   {
      return nir_build_deref_var(&b, nir_local_variable_create(b.impl, type, name));
   }

   nir_deref_instr *element(uint32_t index) { return nir_build_deref_array_imm(&b, array, index); }

   void insert(nir_deref_instr *result, nir_deref_instr *matrix)
   {
      nir_cmat_insert(&b, &result->def, nir_imm_float(&b, 1), &matrix->def, nir_imm_int(&b, 0));
   }

   /// The number of copies that the pass makes. Every replacement is in place after it.
   unsigned copies()
   {
      lower_cmat_inserts(shader.get());
      nir_validate_shader(shader.get(), "lower_cmat_inserts");
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            const bool inserts =
               instr->type == nir_instr_type_intrinsic &&
               nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_cmat_insert;
            EXPECT_TRUE(!inserts || is_in_place(nir_instr_as_intrinsic(instr)));
         }
      }
      EXPECT_FALSE(lower_cmat_inserts(shader.get()));
      return test::count(test::body(shader.get()), "@cmat_copy");
   }

   nir_deref_instr *x, *y, *array;
};

TEST(LowerCmatInserts, AnotherMatrixIsCopiedBefore)
{
   Matrices m;
   m.insert(m.x, m.y);
   EXPECT_EQ(m.copies(), 1u);
   const std::string text = test::body(m.shader.get());
   EXPECT_LT(text.find("@cmat_copy"), text.find("@cmat_insert")) << text;
}

TEST(LowerCmatInserts, TheSameMatrixIsNot)
{
   Matrices m;
   m.insert(m.x, m.x);
   m.insert(m.element(1), m.element(1));
   EXPECT_EQ(m.copies(), 0u);
}

TEST(LowerCmatInserts, ElementsOfAnArrayAreToldApart)
{
   Matrices m;
   m.insert(m.element(0), m.element(1));
   EXPECT_EQ(m.copies(), 1u);
}

} // namespace
} // namespace weft
