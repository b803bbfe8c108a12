// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Multiplies matrices in registers slice by slice along K, if the whole ones exceed the registers.
/// A loop loads factors from shared memory and multiplies them, 8 bytes of a line at a time:
///
///        a0 = load            for each slice s of K
///        a1 = load               a0.s = load, a1.s = load, b0.s = load
///        b0 = load       ─►      d0 += a0.s · b0.s
///        d0 += a0 · b0           d1 += a1.s · b0.s
///        d1 += a1 · b0
///
/// So an invocation holds its sums and one slice of the factors. Matrices that fit are faster
/// without slices: a GPU's compiler itself orders their loads better.
///
/// Runs before lower_cmat, with constant indices into arrays of matrices. Other passes remove loads
/// without a reader.
bool opt_cmat_slices(nir_shader *, uint32_t subgroup_size);

} // namespace weft
