// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Neighbouring workgroups that one kernel runs together.
///
/// A row of a matrix times a vector is often the work of one workgroup. The next workgroup reads
/// the same vector and prepares it in the same way. A kernel of joined workgroups prepares it once:
///
///    loop {                          loop {
///       v = prepare(vector[i]);         v = prepare(vector[i]);
///       sum += row[id][i] * v;          sum0 += row[id][i] * v;
///    }                                  sum1 += row[id + 1][i] * v;
///                                    }
///
/// Vulkan lets workgroups run in any order, and at the same time. Joined workgroups share their
/// control flow, so it must not depend on the workgroup.

#pragma once

#include "backend/cpu/specialize/branch_decisions.h"

namespace weft::cpu {

/// The numbers of workgroups along x that are joined are multiples of this.
constexpr uint32_t joinable_multiple = 4;
/// Fewer workgroups along x are not joined, because all threads need work.
constexpr uint32_t min_joinable_workgroups = 32 * joinable_multiple;

/// The most vectors of 32-bit sums that a joined kernel keeps in registers. 0 or 1: no workgroups
/// are joined.
uint32_t max_joined_sums(uint32_t vector_bits, uint32_t subgroup_size);

/// Whether it may be worthwhile to join a shader's workgroups, if dispatches decide these branches.
/// A loop must read memory of one workgroup as well as memory that all of them read, in vectors.
bool may_gain_by_joining(const nir_shader *, const std::vector<BranchConditions::Branch> &,
                         uint32_t max_sums);

/// A pass: joins two or four workgroups along x, if that is possible and seems worthwhile. Each
/// value that depends on the workgroup exists for each of them afterwards; the ID of the first one
/// remains.
bool join_workgroups(nir_shader *, uint32_t max_sums);

} // namespace weft::cpu
