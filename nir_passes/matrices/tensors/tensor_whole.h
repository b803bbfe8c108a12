// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tensor accesses that are ordinary loads and stores: the rows or columns of the matrix are lines
/// in memory, and no element is clipped or clamped.

#pragma once

#include "nir_passes/matrices/tensors/tensor_access.h"

#include <optional>

namespace weft {

struct WholeOptions {
   /// cmat_load and cmat_store need the alignment that Vulkan requires.
   bool is_aligned = true;
   bool robust_access = false;
};

/// The access as a cmat_load or cmat_store of the whole matrix.
struct WholeAccess {
   glsl_matrix_layout matrix_layout;
   nir_def *first;   ///< number of the matrix's first element in memory
   nir_def *stride;  ///< from line to line, in elements
   nir_def *applies; ///< the same for all invocations
};

/// Nothing if the types rule it out.
std::optional<WholeAccess> whole_access(nir_builder *, const TensorAccess &, const WholeOptions &);

void build_whole(nir_builder *, const TensorAccess &, const WholeAccess &, const WholeOptions &);

} // namespace weft
