// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Decides which loops around matrices in registers are unrolled. A loop is unrolled if its counter
/// indexes an array of matrices, because registers cannot be indexed. Other loops around a
/// multiplication stay, against hints of the shader and for the driver's compiler, too. If
/// unrolled, the loads of several steps would come first and exceed the registers.
///
/// Only marks loops. Their counters must be values (nir_lower_vars_to_ssa).
bool unroll_matrix_arrays(nir_shader *);

} // namespace weft
