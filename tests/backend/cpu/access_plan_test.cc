// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The plans of accesses, by hand. memory_test runs their code at random addresses.

#include "backend/cpu/codegen/passes/hoist_constants.h"
#include "backend/cpu/codegen/plans/access_plans.h"

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

namespace weft::cpu::test {
namespace {

constexpr uint32_t W = 16;

class AccessPlanTest : public testing::Test {
protected:
   explicit AccessPlanTest(uint32_t workgroup_size = 4 * W) : shader(W, workgroup_size) {}

   NirShader shader;
   nir_builder *b = &shader.b;
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *index = shader.local_index();
   nir_def *number = shader.load(9, nir_imm_int(b, 0), 1, 32); ///< no analysis knows its value
   nir_def *memory = shader.buffer(0);
   TranslateOptions options = {
      .subgroup_size = W,
      .target = {.vector_bits = 512, .shuffles_two_registers = true, .masks_any_element = true},
      .robust_buffer_access = true};

   nir_def *load(nir_def *offset, unsigned components = 1, unsigned bits = 32)
   {
      return _nir_build_load_ssbo(
         b, components, bits, memory, offset,
         {._ = 0, .access = gl_access_qualifier(0), .align_mul = bits / 8, .align_offset = 0});
   }
   nir_def *times(nir_def *value, uint64_t factor) { return nir_imul_imm(b, value, factor); }

   template <typename Use>
   void with_plans(const Use &use)
   {
      hoist_constants(b->shader);
      nir_divergence_analysis(b->shader);
      nir_index_ssa_defs(b->impl);
      nir_metadata_preserve(b->impl, nir_metadata_none); // builders leave stale indices
      nir_metadata_require(b->impl, nir_metadata_block_index | nir_metadata_dominance);
      const ShaderFacts facts(b->shader, options);
      const AccessPlans plans(b->shader, options, facts);
      use(plans);
   }

   /// The plans of one access.
   std::vector<std::string> plans_of(const nir_instr *access)
   {
      std::vector<std::string> texts;
      with_plans([&](const AccessPlans &plans) {
         for (const AccessPlan &plan : plans.of(nir_instr_as_intrinsic(access)))
            texts.push_back(describe(plan));
      });
      return texts;
   }

   std::string plan_of(const nir_def *loaded)
   {
      const std::vector<std::string> texts = plans_of(loaded->parent_instr);
      return texts.size() == 1 ? texts[0] : "";
   }

   /// The plans of the last access, which is a store.
   std::vector<std::string> store_plans(nir_def *offset, nir_def *value)
   {
      shader.store(1, offset, value);
      return plans_of(nir_block_last_instr(nir_cursor_current_block(b->cursor)));
   }
};

using Strings = std::vector<std::string>;

TEST_F(AccessPlanTest, OneAddressIsUniform)
{
   EXPECT_EQ(plan_of(number), "uniform");
   EXPECT_EQ(plan_of(load(times(number, 4), 4)), "uniform");
   EXPECT_EQ(store_plans(nir_imm_int(b, 0), lane), Strings{"uniform"});
}

TEST_F(AccessPlanTest, TouchingElementsAreRuns)
{
   EXPECT_EQ(plan_of(load(times(index, 4))), "runs of 16 lanes, step 4; if 64 bytes in bounds");
   EXPECT_EQ(plan_of(load(times(index, 16), 4)),
             "runs of 16 lanes, step 16; if 256 bytes in bounds");
   // Rows of eight elements.
   nir_def *row =
      nir_iadd(b, nir_imul(b, nir_udiv_imm(b, index, 8), number), nir_iand_imm(b, lane, 7));
   EXPECT_EQ(plan_of(load(times(row, 4))),
             "runs of 8 lanes, step 4; if 4 bytes of each lane in bounds");
}

TEST_F(AccessPlanTest, OtherStepsAreElements)
{
   EXPECT_EQ(plan_of(load(times(index, 128))),
             "steps of 16 lanes, step 128; if 1924 bytes in bounds");
}

TEST_F(AccessPlanTest, LanesShareElements)
{
   nir_def *row = nir_imul(b, nir_udiv_imm(b, index, 4), number);
   EXPECT_EQ(plan_of(load(times(row, 4))),
             "same of 4 lanes, step 0; if 4 bytes of each lane in bounds");
   // Three components are loaded as four.
   EXPECT_EQ(plan_of(load(times(row, 4), 3)),
             "same of 4 lanes, step 0; if 16 bytes of each lane in bounds");
}

TEST_F(AccessPlanTest, ElementsInFewVectorsAreChunks)
{
   nir_def *place = times(nir_udiv_imm(b, lane, 4), 18);
   EXPECT_EQ(plan_of(load(place, 1, 16)), "chunks 0; if 56 bytes in bounds");
   EXPECT_EQ(plan_of(load(times(place, 3), 2, 16)), "chunks 0 1 2; if 166 bytes in bounds");
   // Shuffles of bytes are slow.
   EXPECT_EQ(plan_of(load(place, 1, 8)), "same of 4 lanes, step 0; if 55 bytes in bounds");
   options.target = {.vector_bits = 256};
   EXPECT_EQ(plan_of(load(place, 1, 16)), "same of 4 lanes, step 0; if 56 bytes in bounds");
}

TEST_F(AccessPlanTest, AssumptionsAreConditions)
{
   nir_def *place = nir_iadd(b, number, times(lane, 8));
   const std::string text = plan_of(load(times(nir_udiv_imm(b, place, 32), 18), 1, 16));
   EXPECT_EQ(text, "chunks 0; if %" + std::to_string(place->index) +
                      ".0 & 0xc000001f == 0, 56 bytes in bounds");
}

/// The first program assumes rows of rings to begin at multiples. The plain program, which follows
/// if that is wrong, only assumes that the ring does not begin again within the row.
TEST_F(AccessPlanTest, RowsOfRingsBeginAnywhereInPlainPrograms)
{
   nir_def *place = nir_iadd(b, number, lane);
   nir_def *loaded = shader.load_shared(times(nir_iand_imm(b, place, 63), 4), 1, 32);
   const auto expect_runs_if = [&](const std::string &condition) {
      const std::string text = plan_of(loaded);
      EXPECT_EQ(text, "runs of 16 lanes, step 4; if %" + std::to_string(place->index) +
                         ".0 & 0x3f " + condition);
   };
   expect_runs_if("<= 48");
   options.guards_may_leave = true;
   expect_runs_if("== 0");
}

TEST_F(AccessPlanTest, UnknownAddressesOfWordsMayLieInWindows)
{
   EXPECT_EQ(plan_of(load(load(times(index, 4)))), "windows");
   EXPECT_EQ(plan_of(load(times(nir_imul(b, lane, lane), 4))), "windows");
   EXPECT_EQ(plan_of(load(load(times(index, 4)), 2, 16)), "windows");
}

TEST_F(AccessPlanTest, OtherUnknownAddressesGoLaneByLane)
{
   nir_def *place = load(times(index, 4));
   EXPECT_EQ(plan_of(load(place, 2)), "lanewise");
   EXPECT_EQ(plan_of(load(place, 1, 64)), "lanewise");
   EXPECT_EQ(plan_of(load(place, 1, 8)), "lanewise");
   EXPECT_EQ(store_plans(place, index), Strings{"lanewise"});
}

/// A permutation of one register of eight words suffices.
TEST_F(AccessPlanTest, WindowsOfNarrowRegisters)
{
   options.target = {.vector_bits = 256};
   EXPECT_EQ(plan_of(load(load(times(index, 4)))), "windows");
   options.target = {.vector_bits = 512};
   EXPECT_EQ(plan_of(load(load(times(index, 4)))), "lanewise");
}

TEST_F(AccessPlanTest, UncheckedBuffersNeedNoBounds)
{
   options.robust_buffer_access = false;
   EXPECT_EQ(plan_of(load(times(index, 4))), "runs of 16 lanes, step 4");
   EXPECT_EQ(store_plans(times(index, 4), index), Strings{"runs of 16 lanes, step 4"});
   // Four components are read, though the buffer may end behind the third.
   nir_def *row = nir_imul(b, nir_udiv_imm(b, index, 4), number);
   EXPECT_EQ(plan_of(load(times(row, 4), 3)),
             "same of 4 lanes, step 0; if 16 bytes of each lane in bounds");
}

TEST_F(AccessPlanTest, AMaskReplacesConditions)
{
   nir_push_if(b, nir_ieq_imm(b, load(times(index, 4)), 0));
   EXPECT_EQ(plan_of(load(times(nir_iadd(b, index, number), 4))),
             "masked of 16 lanes, step 4, lanes in bounds");
   nir_def *wide = load(times(nir_iadd(b, index, number), 8), 2);
   EXPECT_EQ(plan_of(wide), "runs of 16 lanes, step 8; if 128 bytes in bounds");
   EXPECT_EQ(store_plans(times(index, 8), wide),
             Strings{"masked of 16 lanes, step 8; if 128 bytes in bounds"});
   nir_pop_if(b, nullptr);
}

/// The size of the memory behind an address is unknown.
TEST_F(AccessPlanTest, AddressesNeedAllLanes)
{
   nir_push_if(b, nir_ieq_imm(b, load(times(index, 4)), 0));
   nir_def *address = nir_u2u64(b, times(index, 64));
   nir_def *loaded = _nir_build_load_global(
      b, 1, 32, address,
      {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0});
   EXPECT_EQ(plan_of(loaded), "steps of 16 lanes, step 64; if all lanes active");
   nir_pop_if(b, nullptr);
}

TEST_F(AccessPlanTest, StoresOfManyElementsGoLaneByLane)
{
   EXPECT_EQ(store_plans(times(index, 16), nir_vec4(b, index, index, index, index)),
             Strings{"runs of 16 lanes, step 16; if 256 bytes in bounds"});
   EXPECT_EQ(store_plans(times(index, 8), index), Strings{"lanewise"});
}

TEST_F(AccessPlanTest, StoresHaveAPlanForEachRun)
{
   shader.store(1, times(index, 16), nir_vec4(b, index, index, index, index));
   nir_instr *store = nir_block_last_instr(nir_cursor_current_block(b->cursor));
   nir_intrinsic_set_write_mask(nir_instr_as_intrinsic(store), 0b1011);
   EXPECT_EQ(plans_of(store), (Strings{"lanewise", "lanewise"}));
}

TEST_F(AccessPlanTest, BuffersOfLanes)
{
   nir_def *buffer = nir_vec2(b, nir_imm_int(b, 0), times(nir_umod_imm(b, lane, 3), 16));
   nir_def *loaded = _nir_build_load_ssbo(
      b, 1, 32, buffer, times(lane, 4),
      {._ = 0, .access = ACCESS_NON_UNIFORM, .align_mul = 4, .align_offset = 0});
   EXPECT_EQ(plan_of(loaded), "own buffers");
}

TEST_F(AccessPlanTest, PrivateMemory)
{
   b->shader->scratch_size = 64;
   const auto load_scratch = [&](nir_def *offset) {
      return _nir_build_load_scratch(b, 1, 32, offset, {._ = 0, .align_mul = 4, .align_offset = 0});
   };
   EXPECT_EQ(plan_of(load_scratch(times(number, 4))), "private row");
   EXPECT_EQ(plan_of(load_scratch(load(times(index, 4)))), "lanewise");
}

/// A chunk of shared memory is often made of several stores, for which its load waits.
TEST_F(AccessPlanTest, SharedMemoryIsLoadedByFewChunks)
{
   const auto place = [&](uint64_t pair) {
      return nir_iadd(b, times(nir_udiv_imm(b, lane, 2), pair),
                      times(nir_iand_imm(b, lane, 1), 20));
   };
   EXPECT_TRUE(plan_of(load(place(72))).starts_with("chunks 0 1 2 3 4 5 6 7 8"));
   EXPECT_TRUE(plan_of(shader.load_shared(place(72), 1, 32)).starts_with("steps of 2 lanes"));
   EXPECT_TRUE(plan_of(shader.load_shared(place(36), 1, 32)).starts_with("chunks 0 1 2 3 4"));
}

/// Two loads share a guard; fields of one struct share chunks.
TEST_F(AccessPlanTest, BlocksHaveOneGuard)
{
   nir_push_if(b, nir_ieq_imm(b, number, 3));
   nir_def *place = times(nir_udiv_imm(b, index, 4), 18);
   nir_def *scale = load(place, 1, 16), *values = load(nir_iadd_imm(b, place, 2), 2, 16);
   nir_def *other = load(times(index, 128));
   EXPECT_EQ(plan_of(scale), "chunks of cluster 0, 0 bytes on; guarded");
   EXPECT_EQ(plan_of(values), "chunks of cluster 0, 2 bytes on; guarded");
   EXPECT_EQ(plan_of(other), "steps of 16 lanes, step 128; guarded");
   with_plans([&](const AccessPlans &plans) {
      const GuardPlan *guard = plans.guard(scale->parent_instr->block);
      ASSERT_TRUE(guard);
      EXPECT_EQ(describe(*guard), "guard %" + std::to_string(scale->index) + " %" +
                                     std::to_string(other->index) +
                                     "; cluster 0: 60 bytes, chunks 0");
   });
   nir_pop_if(b, nullptr);
}

/// A guard leaves before the first effect. Then later blocks may assume properties of its block's
/// values, which are not in copies.
TEST_F(AccessPlanTest, GuardsLeaveBeforeAnEffect)
{
   options.guards_may_leave = true;
   const auto guard_of_loads = [&] {
      nir_push_if(b, nir_ieq_imm(b, number, 3));
      nir_def *one = load(times(index, 128)), *other = load(times(index, 256));
      nir_pop_if(b, nullptr);
      std::string text;
      with_plans([&](const AccessPlans &plans) {
         const GuardPlan *guard = plans.guard(one->parent_instr->block);
         text = guard ? describe(*guard) : "none";
         EXPECT_EQ(
            text.find("guard %" + std::to_string(one->index) + " %" + std::to_string(other->index)),
            0u)
            << text;
      });
      return text.substr(std::min(text.find(';'), text.size()));
   };
   EXPECT_EQ(guard_of_loads(), "; leaves");
   options.guards_may_leave = false;
   EXPECT_EQ(guard_of_loads(), "");
   options.guards_may_leave = true;
   shader.store(1, times(index, 4), index);
   EXPECT_EQ(guard_of_loads(), "");
}

/// Inactive lanes are ordinary, except in loops over memory with bounds.
TEST_F(AccessPlanTest, GuardsThatOftenFailDoNotLeave)
{
   options.guards_may_leave = true;
   const auto load_address = [&](nir_def *address) {
      return _nir_build_load_global(
         b, 1, 32, nir_u2u64(b, address),
         {._ = 0, .access = gl_access_qualifier(0), .align_mul = 4, .align_offset = 0});
   };
   std::vector<nir_def *> loads;
   const auto load_twice = [&](bool by_address) {
      nir_push_if(b, nir_ieq_imm(b, lane, 3));
      for (unsigned i = 1; i <= 2; i++) {
         nir_def *place = times(index, 128 * i);
         loads.push_back(by_address ? load_address(place) : load(place));
      }
      nir_pop_if(b, nullptr);
   };
   load_twice(false);
   nir_loop *loop = nir_push_loop(b);
   load_twice(false);
   load_twice(true);
   nir_break_if(b, nir_ieq_imm(b, number, 3));
   nir_pop_loop(b, loop);
   with_plans([&](const AccessPlans &plans) {
      for (size_t i = 0; i < loads.size(); i += 2) {
         const GuardPlan *guard = plans.guard(loads[i]->parent_instr->block);
         ASSERT_TRUE(guard && guard->checked.size() == 2) << i;
         EXPECT_EQ(guard->leaves, i == 2) << i;
      }
   });
}

TEST_F(AccessPlanTest, ChunksArePrefetched)
{
   nir_def *block = nir_udiv_imm(b, lane, 4), *row = times(shader.workgroup(), 2304);
   EXPECT_EQ(plan_of(load(nir_iadd(b, row, times(block, 18)), 1, 16)),
             "chunks 0; if 56 bytes in bounds; prefetches for the next workgroup");
}

/// A loop over blocks prefetches far ahead.
TEST_F(AccessPlanTest, StreamsOfChunksArePrefetched)
{
   nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "counter");
   nir_store_var(b, counter, nir_imm_int(b, 0), 1);
   nir_loop *loop = nir_push_loop(b);
   nir_def *k = nir_load_var(b, counter);
   nir_break_if(b, nir_uge(b, k, number));
   nir_def *block = nir_iadd(b, times(k, 4), nir_udiv_imm(b, lane, 4));
   nir_def *place = times(nir_iadd(b, nir_imul(b, shader.workgroup(), number), block), 18);
   nir_def *own = load(place, 1, 16), *values = load(nir_iadd_imm(b, place, 2), 2, 16);
   nir_def *of_all = load(times(block, 18), 1, 16);
   nir_store_var(b, counter, nir_iadd_imm(b, k, 1), 1);
   nir_pop_loop(b, loop);
   nir_lower_vars_to_ssa(b->shader);
   nir_copy_prop(b->shader);
   EXPECT_EQ(plan_of(own),
             "chunks of cluster 0, 0 bytes on; guarded; prefetches 8208 bytes on, near");
   EXPECT_EQ(plan_of(values),
             "chunks of cluster 0, 2 bytes on; guarded; prefetches 8208 bytes on, near");
   // Memory that all workgroups read stays in the cache.
   EXPECT_EQ(plan_of(of_all), "chunks 0; guarded");
}

/// With a store between them, two loads may share a guard, but not a cluster.
TEST_F(AccessPlanTest, NoClusterAcrossAWrite)
{
   nir_push_if(b, nir_ieq_imm(b, number, 3));
   nir_def *place = times(nir_udiv_imm(b, index, 4), 18);
   nir_def *scale = load(place, 1, 16);
   shader.store(1, times(index, 4), index);
   nir_def *values = load(nir_iadd_imm(b, place, 2), 2, 16);
   EXPECT_EQ(plan_of(scale), "chunks 0; guarded");
   EXPECT_EQ(plan_of(values), "chunks 0; guarded");
   nir_pop_if(b, nullptr);
}

/// Atomic operations go lane by lane in any case.
TEST_F(AccessPlanTest, AtomicsHaveNoGuard)
{
   nir_push_if(b, nir_ieq_imm(b, number, 3));
   nir_def *loaded = load(times(index, 4));
   for (unsigned i = 0; i < 2; i++)
      _nir_build_ssbo_atomic(
         b, 32, shader.buffer(2), times(index, 4), index,
         {._ = 0, .access = gl_access_qualifier(0), .atomic_op = nir_atomic_op_iadd});
   EXPECT_EQ(plan_of(loaded), "runs of 16 lanes, step 4; if 64 bytes in bounds");
   nir_pop_if(b, nullptr);
}

TEST_F(AccessPlanTest, AnAddressThatIsLoadedHasNoGuard)
{
   nir_push_if(b, nir_ieq_imm(b, number, 3));
   nir_def *first = load(times(index, 4));
   nir_def *second = load(times(nir_iadd(b, index, nir_read_first_invocation(b, first)), 4));
   EXPECT_EQ(plan_of(first), "runs of 16 lanes, step 4; if 64 bytes in bounds");
   EXPECT_EQ(plan_of(second), "runs of 16 lanes, step 4; if 64 bytes in bounds");
   with_plans(
      [&](const AccessPlans &plans) { EXPECT_FALSE(plans.guard(first->parent_instr->block)); });
   nir_pop_if(b, nullptr);
}

class PartialSubgroups : public AccessPlanTest {
protected:
   PartialSubgroups() : AccessPlanTest(4 * W - 1) {}
};

TEST_F(PartialSubgroups, RunUnderAMask)
{
   EXPECT_EQ(plan_of(load(times(index, 4))), "masked of 16 lanes, step 4, lanes in bounds");
}

/// Tests for the blocks that run under a mask.
class ActiveLanesTest : public AccessPlanTest {
protected:
   const nir_block *here() { return nir_cursor_current_block(b->cursor); }
   nir_def *divergent() { return nir_ieq_imm(b, lane, 3); }
   nir_def *uniform() { return nir_ieq_imm(b, number, 3); }

   std::vector<bool> masks(const std::vector<const nir_block *> &blocks)
   {
      nir_divergence_analysis(b->shader);
      const ActiveLanes active(b->shader, W);
      std::vector<bool> result;
      for (const nir_block *block : blocks)
         result.push_back(active.has_mask(block));
      return result;
   }
};

TEST_F(ActiveLanesTest, SidesOfIfs)
{
   std::vector<const nir_block *> blocks = {here()};
   nir_push_if(b, uniform());
   blocks.push_back(here());
   nir_push_if(b, divergent());
   blocks.push_back(here());
   nir_push_if(b, uniform());
   blocks.push_back(here());
   nir_pop_if(b, nullptr);
   nir_pop_if(b, nullptr);
   blocks.push_back(here());
   nir_pop_if(b, nullptr);
   blocks.push_back(here());
   EXPECT_EQ(masks(blocks), (std::vector<bool>{false, false, true, true, false, false}));
}

TEST_F(ActiveLanesTest, Loops)
{
   std::vector<const nir_block *> blocks;
   for (const bool divergent_break : {false, true}) {
      nir_push_loop(b);
      blocks.push_back(here());
      nir_break_if(b, divergent_break ? divergent() : uniform());
      blocks.push_back(here());
      nir_pop_loop(b, nullptr);
      blocks.push_back(here());
   }
   EXPECT_EQ(masks(blocks), (std::vector<bool>{false, false, false, true, true, false}));
}

/// Behind a side that never ends, only the other side's lanes continue.
TEST_F(ActiveLanesTest, EndlessSides)
{
   std::vector<const nir_block *> blocks;
   nir_push_if(b, uniform());
   nir_push_if(b, divergent());
   nir_push_loop(b);
   nir_pop_loop(b, nullptr);
   nir_pop_if(b, nullptr);
   blocks.push_back(here());
   nir_pop_if(b, nullptr);
   blocks.push_back(here());
   EXPECT_EQ(masks(blocks), (std::vector<bool>{true, false}));
}

} // namespace
} // namespace weft::cpu::test
