// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <cstdint>

namespace weft {

/// Removes copies of matrices that only carry a value from one cmat intrinsic to another. The front
/// end makes a temporary for every loaded and every computed matrix, so a running sum
///
///    cmat_copy   t0, sum            becomes
///    cmat_muladd t1, a, b, t0   ─►     cmat_muladd sum, a, b, sum
///    cmat_copy   sum, t1
///
/// and a component that is read through a pointer is read in its matrix. Works within blocks.
/// Afterwards the result of an intrinsic may be the same variable as an operand of the same type;
/// an operand is never partly overlapped.
bool opt_cmat_copies(nir_shader *);

/// The same, for tests of its time: returns the number of times that it visited a copy or an
/// instruction that touches a matrix.
uint64_t opt_cmat_copies_steps(nir_shader *);

} // namespace weft
