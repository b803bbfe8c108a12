// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Passes of a page or less, on shaders built by hand.

#include "nir_passes/workgroups/lower_derivatives.h"
#include "nir_passes/workgroups/lower_invocation_ids.h"
#include "nir_passes/workgroups/opt_visibility_barriers.h"
#include "tests/nir_passes/lines.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::Built;

bool count_runs(nir_shader *, unsigned *runs)
{
   ++*runs;
   return false;
}

TEST(PassRunner, WhatIsIdleIsSoWithTheSameArgumentsOnly)
{
   Built built;
   unsigned first = 0, second = 0;
   PassRunner run(built.shader.get(), {});
   REPEAT(run, count_runs, &first);
   REPEAT(run, count_runs, &first);
   REPEAT(run, count_runs, &second);
   EXPECT_EQ(first, 1u);
   EXPECT_EQ(second, 1u);
   run.changes++;
   REPEAT(run, count_runs, &first);
   EXPECT_EQ(first, 2u);
}

TEST(LowerInvocationIds, IndexOfSubgroupAndInvocation)
{
   Built built;
   nir_load_local_invocation_index(&built.b);
   nir_load_num_subgroups(&built.b);
   EXPECT_TRUE(lower_invocation_ids(built.shader.get(), 16));
   EXPECT_TRUE(test::has_lines(test::body(built.shader.get()), R"(
      $subgroup = @load_subgroup_id
      $bits = load_const (0x00000004)
      $first = ishl $subgroup, $bits
      $invocation = @load_subgroup_invocation
      iadd $first, $invocation
      load_const (0x00000004
      - @load
   )"));
}

TEST(LowerInvocationIds, OneSubgroupHasNumberZero)
{
   Built built;
   nir_load_subgroup_id(&built.b);
   EXPECT_TRUE(lower_invocation_ids(built.shader.get(), 64));
   EXPECT_EQ(test::body(built.shader.get()).find("@load_subgroup_id"), std::string::npos);
}

/// The index of lane 5 of a workgroup of four columns, of which the quads are squares: the second
/// one of the second square.
TEST(LowerInvocationIds, SquaresOfQuads)
{
   Built built;
   nir_shader *nir = built.shader.get();
   nir->info.derivative_group = DERIVATIVE_GROUP_QUADS;
   nir->info.workgroup_size[0] = nir->info.workgroup_size[1] = 4;
   nir->info.workgroup_size[2] = 1;
   nir_intrinsic_instr *store = nir_store_shared(
      &built.b, nir_load_local_invocation_index(&built.b), nir_imm_int(&built.b, 0));
   EXPECT_TRUE(lower_invocation_ids(nir, 16));
   nir_foreach_block(block, built.b.impl) {
      nir_foreach_instr_safe(instr, block) {
         if (instr->type != nir_instr_type_intrinsic ||
             nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_load_subgroup_invocation)
            continue;
         built.b.cursor = nir_before_instr(instr);
         nir_def_replace(&nir_instr_as_intrinsic(instr)->def, nir_imm_int(&built.b, 5));
      }
   }
   while (nir_opt_constant_folding(nir)) {
   }
   ASSERT_TRUE(nir_src_is_const(store->src[0])) << test::body(nir);
   EXPECT_EQ(nir_src_as_uint(store->src[0]), 3u);
}

TEST(LowerDerivatives, OperationsOfQuads)
{
   Built built;
   nir_shader *nir = built.shader.get();
   nir_ddx(&built.b, nir_ddy_fine(&built.b, nir_imm_float(&built.b, 1)));
   EXPECT_FALSE(lower_derivatives(nir)) << "without derivative groups, vtn leaves none";
   nir->info.derivative_group = DERIVATIVE_GROUP_LINEAR;
   EXPECT_TRUE(lower_derivatives(nir));
   const std::string body = test::body(nir);
   EXPECT_EQ(test::count(body, "@dd"), 0u) << body;
   EXPECT_EQ(test::count(body, "@quad_swap_vertical"), 1u) << body;
   EXPECT_EQ(test::count(body, "@quad_broadcast"), 2u) << body;
}

void barrier(Built &built, mesa_scope execution, mesa_scope memory, unsigned semantics)
{
   _nir_build_barrier(&built.b, {._ = 0,
                                 .execution_scope = execution,
                                 .memory_scope = memory,
                                 .memory_semantics = nir_memory_semantics(semantics),
                                 .memory_modes = nir_var_mem_shared});
}

TEST(OptVisibilityBarriers, KeepsWhatOrdersOrReachesFurther)
{
   constexpr unsigned publish = NIR_MEMORY_RELEASE | NIR_MEMORY_MAKE_AVAILABLE;
   Built built;
   barrier(built, SCOPE_NONE, SCOPE_WORKGROUP, publish);
   EXPECT_FALSE(opt_visibility_barriers(built.shader.get(), nir_var_mem_ssbo));
   nir_variable *shared =
      nir_variable_create(built.shader.get(), nir_var_mem_shared, glsl_uint_type(), "s");
   EXPECT_TRUE(opt_visibility_barriers(built.shader.get(), nir_var_mem_shared));
   EXPECT_TRUE(shared->data.access & ACCESS_COHERENT);
   built.b.cursor = nir_after_impl(built.b.impl);
   barrier(built, SCOPE_WORKGROUP, SCOPE_WORKGROUP, publish);
   barrier(built, SCOPE_NONE, SCOPE_DEVICE, publish);
   barrier(built, SCOPE_NONE, SCOPE_WORKGROUP, NIR_MEMORY_ACQ_REL);
   EXPECT_FALSE(opt_visibility_barriers(built.shader.get(), nir_var_all));
}

/// Mesa's nir_opt_loop_unroll, patched (0018): the first of two breaks has no known trip count
/// while i's first value is not folded, and must stay.
TEST(LoopUnroll, KeepsEndsThatItKnowsNothingOf)
{
   Built built;
   nir_builder *b = &built.b;
   nir_variable *i = nir_local_variable_create(b->impl, glsl_uint_type(), "i"),
                *sum = nir_local_variable_create(b->impl, glsl_uint_type(), "sum");
   nir_store_var(b, i, nir_iadd(b, nir_imm_int(b, 0), nir_imm_int(b, 1)), 1);
   nir_store_var(b, sum, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   nir_store_var(b, sum, nir_iadd_imm(b, nir_load_var(b, sum), 5), 1);
   nir_def *old = nir_load_var(b, i);
   nir_break_if(b, nir_uge(b, nir_imm_int(b, 1), old));
   nir_store_var(b, sum, nir_iadd_imm(b, nir_load_var(b, sum), 100), 1);
   nir_def *next = nir_iadd(b, old, nir_imm_int(b, 1));
   nir_store_var(b, i, next, 1);
   nir_break_if(b, nir_uge(b, next, nir_imm_int(b, 2)));
   nir_pop_loop(b, loop);
   nir_intrinsic_instr *store = nir_store_shared(b, nir_load_var(b, sum), nir_imm_int(b, 0));

   nir_shader *shader = built.shader.get();
   nir_lower_vars_to_ssa(shader);
   nir_copy_prop(shader);
   nir_opt_dce(shader);
   nir_opt_loop_unroll(shader);
   while (nir_copy_prop(shader) || nir_opt_constant_folding(shader) || nir_opt_dead_cf(shader) ||
          nir_opt_remove_phis(shader) || nir_opt_loop_unroll(shader)) {
   }
   ASSERT_TRUE(nir_src_is_const(store->src[0])) << test::body(shader);
   EXPECT_EQ(nir_src_as_uint(store->src[0]), 5u);
}

/// Mesa's patched passes that follow values through variables. They compare each access with a
/// limited number of others, so that their time grows linearly with the shader.
constexpr unsigned remembered = 256;

/// Stores to an array: first of a value, then `others` more.
struct Stores {
   explicit Stores(unsigned others)
   {
      nir_builder *b = &built.b;
      array = nir_build_deref_var(
         b, nir_local_variable_create(b->impl, glsl_array_type(glsl_uint_type(), 10'000, 0), "a"));
      value = nir_load_subgroup_id(b);
      for (unsigned i = 0; i <= others; ++i)
         nir_store_deref(b, element(i), i ? nir_imm_int(b, int(i)) : value, 1);
   }

   nir_deref_instr *element(unsigned i) { return nir_build_deref_array_imm(&built.b, array, i); }

   Built built;
   nir_deref_instr *array;
   nir_def *value;
};

TEST(CopyPropVars, RemembersAsMuchAsItMayCompare)
{
   for (const unsigned others : {10u, remembered - 1, 2 * remembered, 9'000u}) {
      Stores stores(others);
      nir_builder *b = &stores.built.b;
      nir_intrinsic_instr *first = nir_store_shared(b, nir_load_deref(b, stores.element(0)),
                                                    nir_imm_int(b, 0)),
                          *last = nir_store_shared(b, nir_load_deref(b, stores.element(others)),
                                                   nir_imm_int(b, 0));
      nir_opt_copy_prop_vars(stores.built.shader.get());
      EXPECT_EQ(first->src[0].ssa == stores.value, others < remembered) << others;
      EXPECT_TRUE(nir_src_is_const(last->src[0])) << others;
   }
}

TEST(DeadWriteVars, RemembersAsMuchAsItMayCompare)
{
   for (const unsigned others : {10u, remembered - 1, 2 * remembered, 9'000u}) {
      Stores stores(others);
      nir_builder *b = &stores.built.b;
      nir_store_deref(b, stores.element(others), stores.value, 1);
      nir_store_deref(b, stores.element(0), stores.value, 1);
      nir_opt_dead_write_vars(stores.built.shader.get());
      EXPECT_EQ(test::count(test::body(stores.built.shader.get()), "@store_deref"),
                others + 1 + (others < remembered ? 0 : 1))
         << others;
   }
}

/// The number of the bits of a half, not of infinity. The bits of infinity give the power of two
/// that follows the largest half.
double number_of_half(unsigned bits)
{
   return bits < 0x400 ? std::ldexp(bits, -24)
                       : std::ldexp(0x400 | (bits & 0x3ff), int(bits >> 10) - 25);
}

TEST(ConstantFolding, RoundsDoublesToHalvesOnce)
{
   Built built;
   nir_builder *b = &built.b;
   std::vector<std::pair<nir_intrinsic_instr *, unsigned>> stores;
   const auto convert = [&](double number, unsigned half) {
      for (const unsigned sign : {0u, 0x8000u}) {
         nir_def *value = nir_f2f16(b, nir_imm_double(b, sign ? -number : number));
         stores.emplace_back(nir_store_shared(b, value, nir_imm_int(b, 0)), half | sign);
      }
   };
   constexpr double infinity = std::numeric_limits<double>::infinity();
   for (unsigned half = 0; half < 0x7c00; half += half < 0x400 ? 1 : 31) {
      const double tie = (number_of_half(half) + number_of_half(half + 1)) / 2;
      convert(std::nextafter(tie, 0), half);
      convert(tie, half + half % 2);
      convert(std::nextafter(tie, infinity), half + 1);
   }
   convert(65520, 0x7c00);
   convert(1.9e300, 0x7c00);
   convert(infinity, 0x7c00);
   nir_opt_constant_folding(built.shader.get());
   for (const auto &[store, half] : stores) {
      ASSERT_TRUE(nir_src_is_const(store->src[0]));
      ASSERT_EQ(nir_src_as_uint(store->src[0]), half);
   }
}

} // namespace
} // namespace weft
