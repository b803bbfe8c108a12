// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shaders carry code for every size that they may be given: a norm unrolled for ten lengths of a row, a
/// product with and without a look at the matrix's edge, attention with and without a mask.  What a
/// dispatch needs of it follows from its push constants and its size.  Code for the other sides of
/// these branches is not worth the time of compiling it.

#pragma once

#include "backend/cpu/codegen/facts/dispatch_values.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::cpu {

/// The branches of a shader that a dispatch may decide.  Plain data.
struct BranchConditions {
   struct Branch {
      uint32_t number;    ///< among all ifs, as they stand in the shader
      uint32_t condition; ///< its expression
      int32_t around;     ///< the branch in which it stands, its place in `branches`; -1: none
      bool in_then;       ///< of that one
      /// The side is a small part of the shader, and the condition tells workgroups apart: dispatches of other
      /// sizes want it.
      bool keeps_then, keeps_else;
   };
   std::vector<DispatchExpression> expressions;
   std::vector<Branch> branches;
};

/// Those with a side that is worth leaving out: it has so many instructions or more, and there are effects
/// outside of it.
BranchConditions find_branch_conditions(const nir_shader *, uint32_t subgroup_size,
                                        uint32_t min_instructions);

/// A letter for each branch: 't' then, 'e' else, '?' if invocations may go either way, '-' if none gets
/// there.
std::string decide_branches(const BranchConditions &, const DispatchFacts &);

/// What a program for such dispatches is made of: it has small sides of which the next dispatch may want both.
std::string with_small_sides(const BranchConditions &, std::string decisions);

/// A pass: leaves of a branch the side that was decided on.  The shader is the one of the conditions, in
/// its final form, which it keeps.
bool specialize_branches(nir_shader *, const BranchConditions *, const std::string &decisions);

} // namespace weft::cpu
