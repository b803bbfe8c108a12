// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The contract between the passes on matrices: which instructions and marks (cmat_marks.h) there
/// may be.

#pragma once

#include "compiler/nir/nir.h"

#include <string>

namespace weft {

/// The lowerings of lower_matrices(), in order. Each stage forbids something, and all that the stages
/// before it forbid.
enum class CmatStage : uint8_t {
   /// There are no matrices of the workgroup.
   front_end,
   /// Matrices are the subgroup's.  There may be the workgroup's, which nothing but
   /// cmat_insert_columns_weft and cmat_load_columns_weft writes, and of which muladds have B.
   scope_lowered,
   /// Accesses are cmat_load and cmat_store, or of single elements. Decode functions are called; the
   /// pointers that they take may be packed.
   accesses_lowered,
   /// Components are replaced in place.
   inserts_lowered,
   /// The entry point is the only function. There is no reduction and no per-element operation.
   calls_expanded,
   /// Matrices are tiles. cmat_load may write the workgroup's: split_cmat_shapes() makes it of
   /// cmat_load_columns_weft. This is the one permission that a stage adds.
   split,
};

/// The first breach of the contract, for messages; empty if there is none.
std::string find_breach(nir_shader *, CmatStage);

/// Ends the process with the breach and the shader, in builds with assertions.  A breach is a fault
/// of a pass: whatever the program's shader is, there is none.
void validate_cmat_form(nir_shader *, CmatStage);

} // namespace weft
