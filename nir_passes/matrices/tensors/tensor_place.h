// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The place of a matrix's element in a tensor and in memory (SPV_NV_cooperative_matrix2, "Tensor
/// Layout and View"):
///
///    row, column ── clip ──► index ──► view coordinates, permuted ──► index
///    index ──► coordinates in the span ── offset, clamp ──► coordinates in the tensor
///          ──► block, coordinates in the block ──► number of the element (or block) in memory
///
/// The arithmetic has 32 bits. In most shaders most numbers are constants, so the code is written
/// in full, and folds.

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

/// The same for the first element of a run, if runs fit (runs_fit() of tensor_runs.h). The last
/// coordinate is then split in the same way for all elements of a line in one block.
TensorPlace tensor_place_of_run(nir_builder *, const TensorAddressing &, nir_def *row,
                                nir_def *col);

/// Whether the clip leaves an element out.
nir_def *is_clipped(nir_builder *, const TensorAddressing &, nir_def *row, nir_def *col);
/// Whether the clip leaves no element out.
nir_def *is_unclipped(nir_builder *, const TensorAddressing &);
/// Whether is_unclipped() is constant and true.
bool is_never_clipped(const TensorAddressing &);

/// The number of neighbours in a line of the span that always lie in the same block, if runs fit.
nir_def *block_piece(nir_builder *, const TensorLayout &);

} // namespace weft
