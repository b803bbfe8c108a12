// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// A shader has code for every size that it may get. Examples are a norm unrolled for ten lengths
/// of a row, a product with and without checks of the matrix's edge, and attention with and without
/// a mask. The push constants and the size of a dispatch decide which code it executes. Compiling
/// the other code would only take time.

#pragma once

#include "backend/cpu/specialize/branch_decisions.h"

namespace weft::cpu {

/// Finds the branches that a dispatch may decide and that have a side worth leaving out: at least
/// `min_instructions` long, with effects outside of it. If descriptors alone decide the branch, any
/// access of the side is worth it: most programs use a shader with one format. With room for sums
/// (max_joined_sums()), a dispatch may also decide whether workgroups are joined.
BranchConditions find_branch_conditions(const nir_shader *, uint32_t subgroup_size,
                                        uint32_t min_instructions, uint32_t max_sums = 0);

/// A pass: replaces the conditions of decided branches by constants, and the values that follow
/// from these conditions (implied_values.h). The conditions belong to this shader, which is in its
/// final form and stays in it.
///
/// A program is compiled for decisions, not for values. So only values that the decisions imply
/// become constants, and the number of programs does not grow.
bool specialize_branches(nir_shader *, const BranchConditions *, const BranchDecisions &);

} // namespace weft::cpu
