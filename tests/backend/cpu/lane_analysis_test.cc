// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Known properties of values in lane analysis, opt_uniform and split_overlapping_loads, by hand;
/// memory_test tries them on random chains of operations.

#include "backend/cpu/codegen/facts/lane_analysis.h"

#include "backend/cpu/codegen/passes/opt_uniform.h"
#include "backend/cpu/codegen/passes/split_overlapping_loads.h"
#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

namespace weft::cpu::test {
namespace {

constexpr uint32_t W = 16;

class Lanes : public testing::Test {
protected:
   NirShader shader{W, 4 * W};
   nir_builder *b = &shader.b;
   nir_def *lane = nir_load_subgroup_invocation(b);
   nir_def *group = nir_channel(b, nir_load_workgroup_id(b), 0);
   /// An unknown value.
   nir_def *loaded = shader.load(0, nir_imul_imm(b, lane, 4), 1, 32);

   LanePattern pattern(nir_def *value)
   {
      prepare();
      return LaneAnalysis(b->shader, W).pattern(*value);
   }
   void prepare()
   {
      nir_divergence_analysis(b->shader);
      nir_index_ssa_defs(b->impl);
   }
};

TEST_F(Lanes, NumbersRunInSteps)
{
   EXPECT_EQ(pattern(lane), (LanePattern{W, 1, 31}));
   EXPECT_EQ(pattern(nir_imul_imm(b, lane, 12)), (LanePattern{W, 12, 31}));
   const LanePattern sum = pattern(nir_iadd(b, nir_imul_imm(b, group, 64), lane));
   EXPECT_EQ(sum, (LanePattern{W, 1, 6}));
   EXPECT_EQ(pattern(nir_ineg(b, lane)), (LanePattern{W, -1, 31}));
   EXPECT_EQ(pattern(nir_ishl_imm(b, lane, 3)), (LanePattern{W, 8, 31}));
}

TEST_F(Lanes, UniformValuesStandStill)
{
   EXPECT_EQ(pattern(group).step, 0);
   EXPECT_EQ(pattern(group).group, W);
   EXPECT_EQ(pattern(nir_imm_int(b, 48)), (LanePattern{W, 0, 4}));
}

TEST_F(Lanes, NothingIsKnownOfWhatIsLoaded)
{
   EXPECT_EQ(pattern(loaded).group, 1u);
   EXPECT_EQ(pattern(nir_iadd(b, loaded, lane)).group, 1u);
   EXPECT_EQ(pattern(nir_imul(b, lane, lane)).group, 1u);
   EXPECT_EQ(pattern(nir_imul_imm(b, loaded, 8)).log2_align, 3u);
}

TEST_F(Lanes, QuotientsStandStillInGroups)
{
   const LanePattern by4 = pattern(nir_udiv_imm(b, lane, 4));
   EXPECT_EQ(by4.group, 4u);
   EXPECT_EQ(by4.step, 0);
   EXPECT_EQ(pattern(nir_ushr_imm(b, lane, 4)).group, W);
   EXPECT_EQ(pattern(nir_ushr_imm(b, lane, 4)).step, 0);
   // Multiples of three begin anywhere in a group.
   EXPECT_EQ(pattern(nir_udiv_imm(b, lane, 3)).group, 1u);
}

TEST_F(Lanes, RemaindersRunInGroups)
{
   const LanePattern mod4 = pattern(nir_umod_imm(b, lane, 4));
   EXPECT_EQ(mod4.group, 4u);
   EXPECT_EQ(mod4.step, 1);
   EXPECT_EQ(pattern(nir_iand_imm(b, lane, 7)).group, 8u);
   EXPECT_EQ(pattern(nir_iand_imm(b, lane, 0xff)), (LanePattern{W, 1, 31}));
   EXPECT_EQ(pattern(nir_umod_imm(b, lane, 3)).group, 1u);
}

TEST_F(Lanes, OfNumbersThatRunDownwardsNothingIsKnownOfQuotients)
{
   nir_def *down = nir_imul_imm(b, lane, -1);
   EXPECT_EQ(pattern(nir_udiv_imm(b, down, 4)).group, 1u);
   EXPECT_EQ(pattern(nir_umod_imm(b, down, 3)).group, 1u);
}

TEST_F(Lanes, WithoutAlignmentCarriesMayPass)
{
   nir_def *shifted = nir_iadd(b, lane, nir_iadd_imm(b, group, 1));
   EXPECT_EQ(pattern(shifted).step, 1);
   EXPECT_EQ(pattern(nir_udiv_imm(b, shifted, 4)).group, 1u);
   EXPECT_EQ(pattern(nir_umod_imm(b, shifted, 4)).group, 1u);
}

TEST_F(Lanes, WhereLanesMeetTheirStepsMustAgree)
{
   nir_push_if(b, nir_ult_imm(b, loaded, 5));
   nir_def *x = nir_iadd_imm(b, lane, 3);
   nir_push_else(b, nullptr);
   nir_def *y = nir_iadd_imm(b, lane, 7);
   nir_pop_if(b, nullptr);
   EXPECT_EQ(pattern(nir_if_phi(b, x, y)).group, 1u);

   nir_push_if(b, nir_ult_imm(b, group, 5));
   nir_def *z = nir_iadd_imm(b, lane, 3);
   nir_push_else(b, nullptr);
   nir_def *w = nir_iadd_imm(b, lane, 7);
   nir_pop_if(b, nullptr);
   const LanePattern joined = pattern(nir_if_phi(b, z, w));
   EXPECT_EQ(joined.group, W);
   EXPECT_EQ(joined.step, 1);
}

TEST_F(Lanes, ACounterKeepsItsStep)
{
   nir_variable *i = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
   nir_store_var(b, i, lane, 1);
   nir_push_loop(b);
   nir_def *now = nir_load_var(b, i);
   nir_push_if(b, nir_uge_imm(b, nir_load_var(b, i), 1000));
   nir_jump(b, nir_jump_break);
   nir_pop_if(b, nullptr);
   nir_def *address = nir_imul_imm(b, now, 4);
   shader.store(0, address, now);
   nir_store_var(b, i, nir_iadd_imm(b, now, W), 1);
   nir_pop_loop(b, nullptr);
   nir_lower_vars_to_ssa(b->shader);
   prepare();
   const LanePattern p = LaneAnalysis(b->shader, W).pattern(*address);
   EXPECT_EQ(p.group, W);
   EXPECT_EQ(p.step, 4);
}

TEST_F(Lanes, MasksMayLeaveStepsAlone)
{
   nir_def *sum = nir_iadd(b, group, nir_imul_imm(b, lane, 8));
   EXPECT_EQ(pattern(nir_iand_imm(b, sum, ~3u)), (LanePattern{W, 8, 2}));
   EXPECT_EQ(pattern(nir_iand_imm(b, sum, ~15u)).group, 1u);
}

TEST_F(Lanes, ShrinkingAGroupKeepsWhatStillHolds)
{
   EXPECT_EQ(shrink({16, 4, 6}, 4), (LanePattern{4, 4, 4}));
   EXPECT_EQ(shrink({16, 0, 6}, 4), (LanePattern{4, 0, 6}));
   EXPECT_EQ(shrink({16, 4, 6}, 1), (LanePattern{1, 0, 2}));
   EXPECT_EQ(shrink({4, 4, 6}, 16), (LanePattern{4, 4, 6}));
}

/// The number of a subgroup, computed from invocations' numbers, and values computed from it are
/// uniform. NIR's divergence analysis does not find that.
TEST_F(Lanes, OptUniformFindsWhatAllLanesShare)
{
   nir_def *index = nir_iadd(b, nir_imul_imm(b, nir_load_subgroup_id(b), W), lane);
   nir_def *number = nir_ushr_imm(b, index, 4);
   nir_def *after = nir_iadd_imm(b, number, 5);
   shader.store(0, nir_imul_imm(b, index, 4), after);
   prepare();
   EXPECT_TRUE(after->divergent);
   EXPECT_TRUE(opt_uniform(b->shader, W));
   prepare();
   EXPECT_FALSE(after->divergent);
   nir_instr *source = nir_instr_as_alu(after->parent_instr)->src[0].src.ssa->parent_instr;
   ASSERT_EQ(source->type, nir_instr_type_intrinsic);
   EXPECT_EQ(nir_instr_as_intrinsic(source)->intrinsic, nir_intrinsic_as_uniform);
}

TEST_F(Lanes, OptUniformLeavesWhatOnlyGroupsShare)
{
   nir_def *half = nir_udiv_imm(b, lane, 8);
   shader.store(0, nir_imul_imm(b, lane, 4), half);
   prepare();
   EXPECT_FALSE(opt_uniform(b->shader, W));
}

TEST_F(Lanes, LoadsOfOverlappingElementsAreSplit)
{
   shader.store(0, nir_imul_imm(b, lane, 4), shader.load(1, nir_imul_imm(b, lane, 4), 3, 32));
   prepare();
   EXPECT_TRUE(split_overlapping_loads(b->shader, W));
   nir_validate_shader(b->shader, "after split_overlapping_loads");
   std::vector<int64_t> steps;
   nir_opt_dce(b->shader);
   prepare();
   const LaneAnalysis lanes(b->shader, W);
   nir_foreach_block(block, b->impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type != nir_instr_type_intrinsic ||
             nir_instr_as_intrinsic(instr)->intrinsic != nir_intrinsic_load_ssbo)
            continue;
         EXPECT_EQ(nir_instr_def(instr)->num_components, 1);
         steps.push_back(lanes.pattern(nir_instr_as_intrinsic(instr)->src[1]).step);
      }
   }
   EXPECT_EQ(steps, (std::vector<int64_t>{4, 4, 4}));
}

TEST_F(Lanes, OtherLoadsStayWhole)
{
   nir_def *apart = nir_imul_imm(b, lane, 12), *same = nir_imul_imm(b, group, 4);
   shader.store(0, apart, shader.load(1, apart, 3, 32));
   shader.store(0, apart, shader.load(1, same, 3, 32));
   shader.store(0, apart, shader.load(1, loaded, 3, 32));
   // Pairs of lanes are too small for a vector.
   nir_def *pairs = nir_iadd(b, nir_imul_imm(b, nir_ushr_imm(b, lane, 1), 64),
                             nir_imul_imm(b, nir_iand_imm(b, lane, 1), 4));
   shader.store(0, apart, shader.load(1, pairs, 3, 32));
   prepare();
   EXPECT_FALSE(split_overlapping_loads(b->shader, W));
}

} // namespace
} // namespace weft::cpu::test
