// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/pointer_groups.h"
#include "tests/nir_passes/shaders.h"

#include "compiler/nir/nir_deref.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

class PointerGroupsOf : public testing::Test {
protected:
   nir_deref_instr *variable(const char *name)
   {
      nir_variable *var =
         nir_variable_create(built.shader.get(), nir_var_mem_shared, glsl_uint_type(), name);
      return nir_build_deref_var(b, var);
   }

   nir_deref_instr *pointer(nir_def *value)
   {
      return nir_build_deref_cast(b, value, nir_var_mem_shared, glsl_uint_type(), 4);
   }

   nir_def *condition() { return nir_ine_imm(b, nir_load_subgroup_id(b), 0); }

   /// The names of the variables that a pointer may point to.
   std::string names(nir_deref_instr *deref)
   {
      std::string text;
      PointerGroups groups(built.shader.get(), nir_var_mem_shared);
      for (const nir_variable *var : groups.variables_of(deref))
         text += var->name;
      return text;
   }

   test::Built built;
   nir_builder *b = &built.b;
};

TEST_F(PointerGroupsOf, AVariableIsAlone)
{
   nir_deref_instr *x = variable("x"), *y = variable("y");
   nir_store_deref(b, x, nir_load_deref(b, y), 1);
   EXPECT_EQ(names(x), "x");
   EXPECT_EQ(names(y), "y");
}

TEST_F(PointerGroupsOf, SelectsJoin)
{
   nir_deref_instr *x = variable("x"), *y = variable("y"), *z = variable("z");
   nir_deref_instr *p = pointer(nir_bcsel(b, condition(), &x->def, &y->def));
   nir_store_deref(b, p, nir_load_deref(b, z), 1);
   EXPECT_EQ(names(p), "xy");
   EXPECT_EQ(names(x), "xy");
   EXPECT_EQ(names(z), "z");
}

TEST_F(PointerGroupsOf, PhisJoin)
{
   nir_deref_instr *x = variable("x"), *y = variable("y"), *z = variable("z");
   nir_if *nif = nir_push_if(b, condition());
   nir_def *first = nir_mov(b, &x->def);
   nir_push_else(b, nif);
   nir_def *second = nir_bcsel(b, condition(), &y->def, nir_imm_int(b, -1));
   nir_pop_if(b, nif);
   nir_deref_instr *p = pointer(nir_if_phi(b, first, second));
   nir_store_deref(b, p, nir_load_deref(b, z), 1);
   EXPECT_EQ(names(p), "xy");
   EXPECT_EQ(names(z), "z");
}

/// A comparison with null does not join two variables.
TEST_F(PointerGroupsOf, NullJoinsNothing)
{
   nir_deref_instr *x = variable("x"), *y = variable("y");
   nir_def *null = nir_imm_int(b, -1);
   nir_deref_instr *p = pointer(nir_bcsel(b, condition(), &x->def, null));
   nir_deref_instr *q = pointer(nir_bcsel(b, condition(), &y->def, null));
   nir_store_deref(b, p, nir_load_deref(b, q), 1);
   EXPECT_EQ(names(p), "x");
   EXPECT_EQ(names(q), "y");
   EXPECT_EQ(names(pointer(null)), "");
}

/// Compared variables must differ as offsets, too.
TEST_F(PointerGroupsOf, ComparisonsJoin)
{
   nir_deref_instr *x = variable("x"), *y = variable("y"), *z = variable("z");
   nir_store_deref(b, z, nir_b2i32(b, nir_ieq(b, &x->def, &y->def)), 1);
   EXPECT_EQ(names(x), "xy");
   EXPECT_EQ(names(z), "z");
}

/// Private memory joins the pointers that are stored there.
TEST_F(PointerGroupsOf, MemoryJoins)
{
   nir_deref_instr *x = variable("x"), *y = variable("y"), *z = variable("z");
   nir_variable *held =
      nir_local_variable_create(b->impl, glsl_array_type(glsl_uint_type(), 2, 4), "held");
   const auto element = [&](nir_def *index) {
      return nir_build_deref_array(b, nir_build_deref_var(b, held), index);
   };
   nir_store_deref(b, element(nir_imm_int(b, 0)), &x->def, 1);
   nir_store_deref(b, element(nir_imm_int(b, 1)), &y->def, 1);
   nir_deref_instr *p = pointer(nir_load_deref(b, element(nir_load_subgroup_id(b))));
   nir_store_deref(b, p, nir_load_deref(b, z), 1);
   EXPECT_EQ(names(p), "xy");
   EXPECT_EQ(names(z), "z");
}

} // namespace
} // namespace weft
