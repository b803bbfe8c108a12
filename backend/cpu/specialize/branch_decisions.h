// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The branches of a shader that a dispatch decides, and the decisions. Plain data: it outlives the
/// shader, and a cache stores it.

#pragma once

#include "backend/cpu/codegen/facts/dispatch_values.h"

#include <cstdint>
#include <vector>

namespace weft::cpu {

/// Not a branch of the shader, and the last one: whether a kernel joins workgroups
/// (join_workgroups.h).
constexpr uint32_t join_branch = UINT32_MAX;

/// The branches whose sides are large enough to be left out.
struct BranchConditions {
   struct Branch {
      uint32_t number;      ///< among all ifs of the shader, in program order; or join_branch
      uint32_t condition;   ///< number of its expression
      int32_t around;       ///< index in `branches` of the branch that contains it; -1: none
      bool in_then = false; ///< the side of `around`
      /// The side is a small part of the shader, and the condition may differ between workgroups:
      /// dispatches of other sizes execute the side.
      bool keeps_then = false, keeps_else = false;
   };
   std::vector<DispatchExpression> expressions;
   std::vector<Branch> branches; ///< in program order
};

/// Whether dispatches decide about joined workgroups too.
inline bool may_join_workgroups(const BranchConditions &conditions)
{
   return !conditions.branches.empty() && conditions.branches.back().number == join_branch;
}

enum class BranchDecision : uint8_t {
   undecided, ///< invocations may take either side
   then_side,
   else_side,
   unreached, ///< no invocation reaches the branch
};

/// A decision for each of BranchConditions::branches.
using BranchDecisions = std::vector<BranchDecision>;

/// The decisions of all dispatches with these facts.
BranchDecisions decide_branches(const BranchConditions &, const DispatchFacts &);

/// The decisions of the program that is compiled for a dispatch: the program also has the small
/// sides that the next dispatch may execute.
BranchDecisions with_small_sides(const BranchConditions &, BranchDecisions);

/// Whether a program contains all code that a dispatch executes, and has at most one branch more
/// that is undecided. The unused code of one branch does not justify a compilation.
bool covers(const BranchDecisions &program, const BranchDecisions &dispatch);

/// Whether the numbers of expressions and branches are in range. Conditions that come from a file
/// are checked before use.
bool are_valid(const BranchConditions &);
bool are_valid(const BranchConditions &, const BranchDecisions &);

} // namespace weft::cpu
