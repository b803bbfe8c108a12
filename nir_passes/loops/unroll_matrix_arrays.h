// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Decides which loops around matrices in registers are unrolled: those whose counter is an index
/// into an array of matrices, as an array of registers has no index.  Others around a multiplication
/// stay loops, whatever the shader's author or a driver's compiler thinks: unrolled, the loads of
/// several steps come first, and what they hold no longer fits into registers.
///
/// Marks loops only.  Their counters are values (nir_lower_vars_to_ssa).
bool unroll_matrix_arrays(nir_shader *);

} // namespace weft
