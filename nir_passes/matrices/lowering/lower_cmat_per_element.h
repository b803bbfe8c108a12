// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Per-element operations of matrices (cmat_per_element_weft; OpCooperativeMatrixPerElementOpNV).

#pragma once

struct nir_shader;

namespace weft {

enum class PerElementOps {
   all,
   /// Only operations whose function takes a matrix as a whole. Later passes do not know matrices
   /// in functions beside the entry point.
   of_whole_matrices,
};

/// Makes calls of the function of each operation, in loops over an invocation's components, for
/// nir_inline_functions() to inline.
bool lower_cmat_per_element(nir_shader *, PerElementOps);

} // namespace weft
