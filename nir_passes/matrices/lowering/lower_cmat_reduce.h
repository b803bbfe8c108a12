// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Reductions of matrices (cmat_reduce_weft; SPV_NV_cooperative_matrix2, CooperativeMatrixReduce).
///
/// The elements that each element of the result combines, of a source of R rows and C columns:
///
///    reduction        result       elements
///    row              R × any      its row
///    column           any × C      its column
///    row and column   any × any    all
///    2x2              R/2 × C/2    rows 2r and 2r + 1 of columns 2c and 2c + 1
///
/// Elements of the result that combine the same elements are equal to the last bit: all combine in
/// one order.

#pragma once

#include "nir_passes/target.h"

struct nir_shader;

namespace weft {

/// Makes calls of the combining function of each reduction, for nir_inline_functions() to inline.
/// Matrices have subgroup scope.
///
/// In private tiles an invocation reads elements of others from the tile's memory, in one step for
/// each prime factor of a line's length. In registers it combines its own block (register_map.h)
/// and then exchanges the results with its neighbours. That takes one shuffle for each line of the
/// block and each doubling of the distance. 16×16 at W = 32, of which an invocation has 4×2:
///
///    reduction        shuffles    W = 32: a grid of 4 × 8 blocks
///    row              3 · 4       8 blocks side by side, 4 rows in each
///    column           2 · 2       4 blocks one below the other, 2 columns in each
///    row and column   3 + 2
///    2x2              none
bool lower_cmat_reduce(nir_shader *, uint32_t subgroup_size, MatrixForm);

} // namespace weft
