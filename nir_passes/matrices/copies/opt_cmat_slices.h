// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Multiplies matrices in registers slice by slice along K, where they do not fit into registers
/// otherwise.  Factors that a block of instructions loads from shared memory and multiplies there are
/// loaded when they are needed, 8 bytes of a line at a time, in a loop:
///
///        a0 = load            for each slice s of K
///        a1 = load               a0.s = load, a1.s = load, b0.s = load
///        b0 = load       ─►      d0 += a0.s · b0.s
///        d0 += a0 · b0           d1 += a1.s · b0.s
///        d1 += a1 · b0
///
/// So an invocation holds a slice of them beside its sums, not all.  What does fit is faster without:
/// a GPU's compiler loads it in such slices by itself, and has more to choose from.
///
/// Before lower_cmat, with arrays of matrices indexed by constants.  Loads that are left without a
/// reader are for others to remove.
bool opt_cmat_slices(nir_shader *, uint32_t subgroup_size);

} // namespace weft
