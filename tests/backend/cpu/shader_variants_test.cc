// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/shader_variants.h"

#include "tests/backend/cpu/branch_conditions.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

/// The branches of: if (push == 0) … else if (push == 1) … else if ….
BranchConditions chain(uint32_t count)
{
   using enum DispatchExpression::Kind;
   BranchConditions conditions = {{leaf(push_constant, 0)}, {}};
   for (uint32_t i = 0; i < count; i++) {
      conditions.expressions.push_back(leaf(constant, i));
      conditions.expressions.push_back(computed(nir_op_ieq, 1, {0, 2 * i + 1}));
      conditions.branches.push_back(
         {.number = i, .condition = 2 * i + 2, .around = int32_t(i) - 1, .in_then = false});
   }
   return conditions;
}

TEST(ShaderVariants, DispatchesOfEqualDecisionsShareAProgram)
{
   const BranchConditions conditions = chain(3);
   ShaderVariants variants(conditions);
   const auto first = variants.choose(PushedWord{1});
   ASSERT_TRUE(first.promise);
   EXPECT_EQ(first.decisions, decisions("et-"));
   const auto other = variants.choose(PushedWord{7});
   ASSERT_TRUE(other.promise);
   EXPECT_EQ(other.decisions, decisions("eee"));
   for (const PushedWord again : {PushedWord{1}, PushedWord{1, 5}}) {
      const auto found = variants.choose(again);
      EXPECT_FALSE(found.promise);
      EXPECT_EQ(found.program, first.program);
   }
   EXPECT_EQ(variants.choose(PushedWord{9}).program, other.program);
   EXPECT_EQ(variants.all().size(), 2u);
}

TEST(ShaderVariants, AfterEightOneServesAllOthers)
{
   const BranchConditions conditions = chain(12);
   ShaderVariants variants(conditions);
   for (uint32_t push = 0; push < 8; push++)
      EXPECT_TRUE(variants.choose(PushedWord{push}).promise) << push;
   const auto ninth = variants.choose(PushedWord{8});
   ASSERT_TRUE(ninth.promise);
   EXPECT_EQ(ninth.decisions, decisions("************"));
   const auto tenth = variants.choose(PushedWord{9});
   EXPECT_FALSE(tenth.promise);
   EXPECT_EQ(tenth.program, ninth.program);
   EXPECT_FALSE(variants.choose(PushedWord{3}).promise);
   EXPECT_NE(variants.choose(PushedWord{3}).program, ninth.program);
   EXPECT_EQ(variants.all().size(), 9u);
}

TEST(ShaderVariants, AProgramOfBothSidesServesEither)
{
   const BranchConditions conditions = three_branches();
   ShaderVariants both_first(conditions), one_first(conditions);
   const auto both = both_first.choose(PushedWord{5, 6});
   EXPECT_EQ(both.decisions, decisions("t*-"));
   EXPECT_EQ(both_first.choose(PushedWord{5, 4}).program, both.program);
   const auto one = one_first.choose(PushedWord{5, 4});
   EXPECT_EQ(one.decisions, decisions("tt-"));
   EXPECT_TRUE(one_first.choose(PushedWord{5, 6}).promise);
}

TEST(ShaderVariants, TheFirstProgramHasSmallSides)
{
   BranchConditions conditions = three_branches();
   conditions.branches[1].keeps_else = true;
   ShaderVariants variants(conditions);
   const auto first = variants.choose(PushedWord{5, 4});
   EXPECT_EQ(first.decisions, decisions("t*-"));
   EXPECT_EQ(variants.choose(PushedWord{5, 6}).program, first.program);
}

/// More dispatches than are remembered, each of its own size.
TEST(ShaderVariants, ForgetsDispatchesButNoPrograms)
{
   const BranchConditions conditions = chain(3);
   ShaderVariants variants(conditions);
   const FutureProgram *program = variants.choose(PushedWord{1}).program;
   for (uint32_t workgroups = 1; workgroups < 100; workgroups++)
      EXPECT_EQ(variants.choose(PushedWord{1, workgroups}).program, program);
}

TEST(ShaderVariants, TellsDispatchesApartByEachFact)
{
   const BranchConditions conditions = three_branches();
   ShaderVariants variants(conditions);
   const uint32_t push = 5;
   DispatchFacts facts = {std::as_bytes(std::span(&push, 1)), {}, {4, 1, 1}};
   EXPECT_EQ(variants.choose(facts).decisions, decisions("tt-"));
   facts.base_workgroup = {5, 0, 0};
   EXPECT_EQ(variants.choose(facts).decisions, decisions("te-"));
   facts.base_workgroup = {4, 0, 0};
   EXPECT_EQ(variants.choose(facts).decisions, decisions("t*-"));
}

/// A branch on a word of a descriptor; sets may differ from dispatch to dispatch.
TEST(ShaderVariants, TellsSetsApart)
{
   using enum DispatchExpression::Kind;
   const BranchConditions conditions = {
      {leaf(descriptor, uint64_t(2) << 32 | 4), leaf(constant, 5), computed(nir_op_ieq, 1, {0, 1})},
      {{.number = 0, .condition = 2, .around = -1}}};
   ASSERT_TRUE(are_valid(conditions));
   ShaderVariants variants(conditions);
   uint32_t words[] = {1, 5, 3};
   DispatchFacts facts = {{}, {}, {1, 1, 1}};
   facts.sets[2] = std::as_bytes(std::span(words));
   const auto first = variants.choose(facts);
   EXPECT_EQ(first.decisions, decisions("t"));
   words[0] = 2; // another descriptor
   EXPECT_EQ(variants.choose(facts).program, first.program);
   words[1] = 4;
   EXPECT_EQ(variants.choose(facts).decisions, decisions("e"));
   facts.sets[2] = std::as_bytes(std::span(words, 1)); // without the descriptor
   EXPECT_EQ(variants.choose(facts).decisions, decisions("*"));
   BranchConditions invalid = conditions;
   invalid.expressions[0].value = uint64_t(max_sets) << 32;
   EXPECT_FALSE(are_valid(invalid));
}

TEST(ShaderVariants, StoredProgramsAreThere)
{
   const BranchConditions conditions = chain(3);
   ShaderVariants variants(conditions, {{decisions("et-"), ready(Error{"stored"})}});
   const auto found = variants.choose(PushedWord{1});
   EXPECT_FALSE(found.promise);
   EXPECT_EQ(found.program->get().error().message, "stored");
}

} // namespace
} // namespace weft::cpu
