// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/workgroups/lower_subgroup_blocks.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::Built;
using test::count;
using test::has;

constexpr BlockOptions blocks_of_16 = {16, 32 << 10};

/// The body after the pass, or the pass's error.
std::string lowered(Built &built, const BlockOptions &options = blocks_of_16)
{
   nir_validate_shader(built.shader.get(), "before");
   const Result<bool> result = lower_subgroup_blocks(built.shader.get(), options);
   if (!result)
      return result.error().message;
   nir_validate_shader(built.shader.get(), "lower_subgroup_blocks");
   return test::body(built.shader.get());
}

/// A value that every pass has to keep.
void use(Built &built, nir_def *value)
{
   nir_store_shared(&built.b, value, nir_imm_int(&built.b, 0));
}

nir_intrinsic_instr *subgroup_barrier(Built &built)
{
   _nir_build_barrier(&built.b, {._ = 0,
                                 .execution_scope = SCOPE_SUBGROUP,
                                 .memory_scope = SCOPE_SUBGROUP,
                                 .memory_semantics = NIR_MEMORY_ACQ_REL,
                                 .memory_modes = nir_var_mem_shared});
   return nir_instr_as_intrinsic(nir_block_last_instr(nir_cursor_current_block(built.b.cursor)));
}

TEST(LowerSubgroupBlocks, PlacesFollowFromTheIndex)
{
   Built built;
   nir_builder *b = &built.b;
   use(built, nir_load_subgroup_id(b));
   use(built, nir_load_subgroup_invocation(b));
   use(built, nir_load_subgroup_size(b));
   use(built, nir_load_num_subgroups(b));
   const std::string text = lowered(built);
   EXPECT_FALSE(has(text, "subgroup")) << text;
   EXPECT_EQ(count(text, "@load_local_invocation_index"), 2u) << text;
   EXPECT_TRUE(has(text, "0x00000010")) << text; // of a size
   EXPECT_FALSE(has(text, "@barrier")) << text;
}

TEST(LowerSubgroupBlocks, ValuesGoThroughSharedMemory)
{
   Built built;
   nir_builder *b = &built.b;
   use(built, nir_shuffle(b, nir_load_local_invocation_index(b), nir_imm_int(b, 3)));
   const std::string text = lowered(built);
   EXPECT_FALSE(has(text, "@shuffle")) << text;
   EXPECT_EQ(count(text, "@barrier"), 2u) << text;
   EXPECT_EQ(count(text, "@store_deref"), 1u) << text;
   EXPECT_EQ(count(text, "@load_deref"), 1u) << text;
   EXPECT_EQ(built.shader->info.shared_size, 64u * 4);
}

TEST(LowerSubgroupBlocks, NoOperationIsLeft)
{
   Built built;
   nir_builder *b = &built.b;
   nir_def *x = nir_load_local_invocation_index(b), *odd = nir_test_mask(b, x, 1);
   use(built, nir_b2i32(b, nir_elect(b, 1)));
   use(built, nir_b2i32(b, nir_vote_any(b, 1, odd)));
   use(built, nir_b2i32(b, nir_vote_all(b, 1, odd)));
   use(built, nir_b2i32(b, nir_vote_ieq(b, 1, x)));
   use(built, nir_channel(b, nir_ballot(b, 4, 32, odd), 0));
   use(built, nir_first_invocation(b));
   use(built, nir_read_first_invocation(b, x));
   use(built, nir_read_invocation(b, x, nir_imm_int(b, 2)));
   use(built, nir_shuffle_xor(b, x, nir_imm_int(b, 2)));
   use(built, nir_shuffle_up(b, x, nir_imm_int(b, 2)));
   use(built, nir_quad_swap_horizontal(b, x));
   use(built, _nir_build_reduce(b, x, {._ = 0, .reduction_op = nir_op_iadd}));
   use(built, _nir_build_inclusive_scan(b, x, {._ = 0, .reduction_op = nir_op_umax}));
   use(built, _nir_build_exclusive_scan(b, x, {._ = 0, .reduction_op = nir_op_ixor}));
   use(built, nir_channel(b, nir_load_subgroup_le_mask(b, 4, 32), 0));
   use(built, nir_u2u32(b, nir_shuffle(b, nir_u2u16(b, x), x)));
   use(built, nir_u2u32(b, nir_shuffle(b, nir_u2u64(b, x), x)));
   use(built, nir_b2i32(b, nir_shuffle(b, odd, x)));
   const std::string text = lowered(built);
   for (const char *word : {"subgroup", "shuffle", "@vote", "@ballot", "invocation (", "@reduce",
                            "scan", "quad", "elect", "@first"})
      EXPECT_FALSE(has(text, word)) << word << "\n" << text;
}

TEST(LowerSubgroupBlocks, BarriersAreTheWorkgroups)
{
   Built built;
   const nir_intrinsic_instr *barrier = subgroup_barrier(built);
   nir_intrinsic_instr *memory = subgroup_barrier(built);
   nir_intrinsic_set_execution_scope(memory, SCOPE_NONE);
   lowered(built);
   EXPECT_EQ(nir_intrinsic_execution_scope(barrier), SCOPE_WORKGROUP);
   EXPECT_EQ(nir_intrinsic_memory_scope(barrier), SCOPE_WORKGROUP);
   EXPECT_EQ(nir_intrinsic_execution_scope(memory), SCOPE_NONE);
   EXPECT_EQ(nir_intrinsic_memory_scope(memory), SCOPE_WORKGROUP);
}

/// The permitted conditions of a branch around a barrier.
struct Condition {
   const char *name;
   bool uniform;
   nir_def *(*value)(nir_builder *);
};

class LowerSubgroupBlocksIn : public testing::TestWithParam<Condition> {};

/// If the workgroup may diverge, the barrier is behind the branch.
TEST_P(LowerSubgroupBlocksIn, Branches)
{
   Built built;
   nir_builder *b = &built.b;
   nir_if *branch = nir_push_if(b, nir_ieq_imm(b, GetParam().value(b), 5));
   use(built, nir_imm_int(b, 1));
   const nir_intrinsic_instr *barrier = subgroup_barrier(built);
   use(built, nir_imm_int(b, 2));
   nir_pop_if(b, branch);
   lowered(built);
   EXPECT_EQ(barrier->instr.block->cf_node.parent->type == nir_cf_node_if, GetParam().uniform)
      << test::body(built.shader.get());
}

/// If it may diverge, the loop checks for remaining invocations.
TEST_P(LowerSubgroupBlocksIn, Loops)
{
   for (const bool before : {false, true}) {
      Built built;
      nir_def *last = GetParam().value(&built.b);
      nir_variable *i = nir_local_variable_create(built.b.impl, glsl_uint_type(), "i");
      nir_store_var(&built.b, i, nir_imm_int(&built.b, 0), 1);
      nir_loop *loop = nir_push_loop(&built.b);
      if (before)
         subgroup_barrier(built);
      nir_def *number = nir_load_var(&built.b, i);
      nir_break_if(&built.b, nir_uge(&built.b, number, last));
      nir_store_var(&built.b, i, nir_iadd_imm(&built.b, number, 1), 1);
      if (!before)
         subgroup_barrier(built);
      nir_pop_loop(&built.b, loop);
      nir_lower_vars_to_ssa(built.shader.get());
      const std::string text = lowered(built);
      EXPECT_EQ(has(text, "@deref_atomic"), !GetParam().uniform) << text;
   }
}

const Condition conditions[] = {
   {"number_of_the_workgroup", true,
    [](nir_builder *b) { return nir_channel(b, nir_load_workgroup_id(b), 0); }},
   {"push_constant", true,
    [](nir_builder *b) {
       return _nir_build_load_push_constant(b, 1, 32, nir_imm_int(b, 0), {._ = 0, .range = 4});
    }},
   {"uniform_buffer", true,
    [](nir_builder *b) {
       return _nir_build_load_ubo(b, 1, 32, nir_imm_int(b, 0), nir_imm_int(b, 0),
                                  {._ = 0, .align_mul = 4, .range = 4});
    }},
   {"read_only_buffer", true,
    [](nir_builder *b) {
       return _nir_build_load_ssbo(b, 1, 32, nir_imm_int(b, 0), nir_imm_int(b, 0),
                                   {._ = 0, .access = ACCESS_NON_WRITEABLE, .align_mul = 4});
    }},
   {"buffer_that_others_write", false,
    [](nir_builder *b) {
       return _nir_build_load_ssbo(b, 1, 32, nir_imm_int(b, 0), nir_imm_int(b, 0),
                                   {._ = 0, .align_mul = 4});
    }},
   {"number_of_the_subgroup", false, [](nir_builder *b) { return nir_load_subgroup_id(b); }},
   {"index", false, [](nir_builder *b) { return nir_load_local_invocation_index(b); }},
   {"vote", false,
    [](nir_builder *b) {
       nir_def *odd = nir_test_mask(b, nir_load_local_invocation_index(b), 1);
       return nir_b2i32(b, nir_vote_any(b, 1, odd));
    }},
};

INSTANTIATE_TEST_SUITE_P(By, LowerSubgroupBlocksIn, testing::ValuesIn(conditions),
                         [](const auto &info) { return info.param.name; });

TEST(LowerSubgroupBlocks, ExchangesWantFullBlocksAndMemory)
{
   for (const auto &[invocations, memory, why] : {std::tuple(64, 256u, ""),
                                                  {64, 255u, "need more shared memory"},
                                                  {40, 256u, "do not fill"}}) {
      Built built;
      built.shader->info.workgroup_size[0] = uint16_t(invocations);
      use(built, nir_shuffle(&built.b, nir_load_local_invocation_index(&built.b),
                             nir_imm_int(&built.b, 3)));
      const std::string text = lowered(built, {16, memory});
      EXPECT_EQ(has(text, "the driver has no subgroup size control"), *why != 0) << text;
      EXPECT_TRUE(has(text, why)) << text;
   }
   /* If each invocation chooses a buffer, the pass cannot see that the value is uniform. */
   Built chooses;
   nir_builder *b = &chooses.b;
   nir_def *chosen = _nir_build_load_ubo(b, 1, 32, nir_load_local_invocation_index(b),
                                         nir_imm_int(b, 0), {._ = 0, .align_mul = 4, .range = 4});
   use(chooses, nir_shuffle(b, chosen, nir_imm_int(b, 3)));
   EXPECT_TRUE(has(lowered(chooses), "varying index"));
   Built waits;
   waits.shader->info.workgroup_size[0] = 40;
   subgroup_barrier(waits);
   EXPECT_TRUE(has(lowered(waits), "@barrier"));
}

} // namespace
} // namespace weft
