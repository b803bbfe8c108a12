// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads and stores of matrices through tensor layouts and views (SPV_NV_cooperative_matrix2).

#pragma once

#include "nir_passes/matrices/tensors/tensor_whole.h"

namespace weft {

/// Expands all accesses. Each invocation moves its components, with a decode function for runs run
/// by run, or all invocations move the matrix as a whole. If several of these are possible, the
/// shader chooses at run time; conditions that are constants fold. Decode functions become calls of
/// functions, for nir_inline_functions().
///
/// Matrices have subgroup scope.
bool lower_cmat_tensor_access(nir_shader *, WholeOptions);

} // namespace weft
