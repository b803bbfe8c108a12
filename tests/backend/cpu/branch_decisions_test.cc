// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/backend/cpu/branch_conditions.h"

#include <gtest/gtest.h>

#include <functional>

namespace weft::cpu {
namespace {

TEST(BranchDecisions, FollowFromPushConstantsAndWorkgroups)
{
   const BranchConditions conditions = three_branches();
   const auto decide = [&](const DispatchFacts &facts) {
      return decide_branches(conditions, facts);
   };
   EXPECT_EQ(decide(PushedWord{5, 4}), decisions("tt-"));
   EXPECT_EQ(decide(PushedWord{5, 6}), decisions("t*-"));
   EXPECT_EQ(decide(PushedWord{2, 4}), decisions("e-*"));
   EXPECT_EQ(decide(PushedWord{2, 2}), decisions("e-t"));
   EXPECT_EQ(decide(PushedWord{0, 4}), decisions("e-e"));
   EXPECT_EQ(decide({}), decisions("***"));
}

TEST(BranchDecisions, KeepSmallSides)
{
   BranchConditions conditions = three_branches();
   EXPECT_EQ(with_small_sides(conditions, decisions("tt-")), decisions("tt-"));
   conditions.branches[1].keeps_else = true;
   EXPECT_EQ(with_small_sides(conditions, decisions("tt-")), decisions("t*-"));
   EXPECT_EQ(with_small_sides(conditions, decisions("te-")), decisions("te-"));
   conditions.branches[1].keeps_then = true;
   EXPECT_EQ(with_small_sides(conditions, decisions("te-")), decisions("t*-"));
   // If a program keeps both sides of a branch, it reaches the branches on both sides.
   conditions.branches[0].keeps_else = true;
   EXPECT_EQ(with_small_sides(conditions, decisions("tt-")), decisions("***"));
}

TEST(BranchDecisions, CoverAtMostOneBranchMore)
{
   EXPECT_TRUE(covers(decisions("tt-"), decisions("tt-")));
   EXPECT_TRUE(covers(decisions("t*-"), decisions("tt-")));
   EXPECT_FALSE(covers(decisions("tt-"), decisions("t*-")));
   EXPECT_FALSE(covers(decisions("te-"), decisions("tt-")));
   EXPECT_FALSE(covers(decisions("**-"), decisions("tt-")));
}

TEST(BranchDecisions, ConditionsAreValid)
{
   using Change = std::function<void(BranchConditions &)>;
   EXPECT_TRUE(are_valid(three_branches()));
   const Change changes[] = {
      [](BranchConditions &c) { c.expressions[2].sources[1] = 2; },
      [](BranchConditions &c) { c.expressions[2].op = nir_num_opcodes; },
      [](BranchConditions &c) { c.expressions[2].op = nir_op_fdot16; },
      [](BranchConditions &c) { c.expressions[2].kind = DispatchExpression::Kind(8); },
      [](BranchConditions &c) { c.expressions[0].bits = 0; },
      [](BranchConditions &c) { c.expressions[0].bits = 128; },
      [](BranchConditions &c) { c.expressions[0].value = ~0ull; },
      [](BranchConditions &c) { c.expressions[3].value = 3; },
      [](BranchConditions &c) {
         c.expressions[3].kind = DispatchExpression::Kind::num_workgroups;
         c.expressions[3].value = 3;
      },
      [](BranchConditions &c) {
         c.expressions[3].kind = DispatchExpression::Kind::invocation;
         c.expressions[3].value = 0;
      },
      [](BranchConditions &c) { c.branches[0].condition = 5; },
      [](BranchConditions &c) { c.branches[0].around = 0; },
      [](BranchConditions &c) { c.branches[2].around = 2; },
      [](BranchConditions &c) { c.branches[2].around = -2; },
   };
   for (size_t i = 0; i < std::size(changes); i++) {
      BranchConditions conditions = three_branches();
      changes[i](conditions);
      EXPECT_FALSE(are_valid(conditions)) << "change " << i;
   }
}

TEST(BranchDecisions, OneForEachBranch)
{
   EXPECT_TRUE(are_valid(three_branches(), decisions("te*")));
   EXPECT_FALSE(are_valid(three_branches(), decisions("te")));
   EXPECT_FALSE(are_valid(three_branches(), decisions("te*-")));
   EXPECT_FALSE(are_valid(three_branches(), {}));
   EXPECT_FALSE(
      are_valid(three_branches(), {BranchDecision(0), BranchDecision(4), BranchDecision(0)}));
}

} // namespace
} // namespace weft::cpu
