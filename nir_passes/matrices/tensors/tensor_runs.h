// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads by a decode function for runs (SPV_NV_cooperative_matrix_decode_vector). A run is
/// neighbours in a row or a column of the matrix, as many as the function returns.

#pragma once

#include "nir_passes/matrices/tensors/tensor_access.h"

#include <optional>

namespace weft {

struct TensorRuns {
   uint32_t length;
   glsl_matrix_layout layout; ///< row-major: neighbours in a row
};

/// The length of the runs and their direction in the matrix, in which the last coordinate of the
/// tensor grows. Nothing without a decode function for runs, or if the types of matrix, layout and
/// view rule runs out.
std::optional<TensorRuns> tensor_runs(const TensorAccess &);

/// Whether each run lies in one block, is whole in the tensor or outside of it, and belongs to one
/// invocation. All lines must begin where a block or an equal part of one begins. Later passes can
/// then see that all invocations that work on a line read the same block.
nir_def *runs_fit(nir_builder *, const TensorAccess &, const TensorRuns &);

/// The number of runs that the invocation writes: 0 if its components are not whole runs.
nir_def *run_count(nir_builder *, const TensorAccess &, const TensorRuns &);
/// The result of cmat_run_coordinates_weft for a run.
nir_def *run_coordinates(nir_builder *, const TensorAccess &, const TensorRuns &, nir_def *number);

} // namespace weft
