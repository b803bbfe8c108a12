// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The place of a matrix's element in a tensor and in memory (SPV_NV_cooperative_matrix2, "Tensor
/// Layout and View"):
///
///    row, column ── clip ──► index ──► view coordinates, permuted ──► index
///    index ──► coordinates in the span ── offset, clamp ──► coordinates in the tensor
///          ──► block, coordinates in the block ──► number of the element (or block) in memory
///
/// All of it is arithmetic of 32 bits. Most numbers are constants in most shaders, so all of it is
/// written out, and folds.

#pragma once

#include "nir_passes/matrices/tensors/tensor_access.h"

namespace weft {

struct TensorPlace {
   nir_def *index;                ///< of the element or block in memory
   TensorNumbers block, in_block; ///< coordinates, for a decode function
   nir_def *is_inside;            ///< null if memory has an element in any case
};

/// The place of an element that the clip leaves.
TensorPlace tensor_place(nir_builder *, const TensorAddressing &, nir_def *row, nir_def *col);

/// The same for the first element of a run, if runs fit (runs_fit() of tensor_runs.h): the last
/// coordinate is then split in a way that is the same for all elements of a line in one block.
TensorPlace tensor_place_of_run(nir_builder *, const TensorAddressing &, nir_def *row,
                                nir_def *col);

/// Whether the clip leaves an element out.
nir_def *is_clipped(nir_builder *, const TensorAddressing &, nir_def *row, nir_def *col);
/// Whether the clip leaves no element out.
nir_def *is_unclipped(nir_builder *, const TensorAddressing &);
/// Whether is_unclipped() is constant and true.
bool is_never_clipped(const TensorAddressing &);

/// Of a line of the span, the number of neighbours that always lie in the same block, if runs fit.
nir_def *block_piece(nir_builder *, const TensorLayout &);

} // namespace weft
