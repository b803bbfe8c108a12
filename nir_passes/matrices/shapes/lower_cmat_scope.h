// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/matrices/shapes/plan_cmat_scope.h"

namespace weft {

/// Turns matrices of workgroup scope into matrices of subgroup scope, which share the work as the
/// plan says.
///
/// * Loads, stores and coordinates move to the subgroup's part. If several subgroups have the same
///   part, the first of them stores it.
/// * Transposes, and conversions between B and other uses, write the matrix to shared memory,
///   between two barriers, and read their elements there.
/// * Reductions across bands first reduce each band. They exchange a row of each band, or one
///   element, and combine these in the same order in all subgroups.
/// * A product joins the bands of B. They go through shared memory to a matrix of the subgroup, or
///   into the workgroup's matrix (cmat_insert_columns_weft).
void lower_cmat_scope(nir_shader *, const ScopePlan &, bool robust_access);

} // namespace weft
