// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The contract between the passes on matrices: the permitted instructions and marks
/// (cmat_marks.h).

#pragma once

#include "compiler/nir/nir.h"

#include <string>

namespace weft {

/// The lowerings of lower_matrices(), in order. Each stage forbids something, and all that the
/// stages before it forbid.
enum class CmatStage : uint8_t {
   /// No mark of a workgroup's matrix exists.
   front_end,
   /// Matrices belong to subgroups. A workgroup's matrix may exist; only cmat_insert_columns_weft
   /// and cmat_load_columns_weft write it, and muladds read it as B.
   scope_lowered,
   /// Accesses are cmat_load and cmat_store, or accesses to single elements. Decode functions are
   /// called; the pointers that they take may be packed.
   accesses_lowered,
   /// Components are replaced in place.
   inserts_lowered,
   /// The entry point is the only function. No reduction and no per-element operation remains.
   calls_expanded,
   /// Matrices are tiles. cmat_load may write a workgroup's matrix: split_cmat_shapes() makes it
   /// from cmat_load_columns_weft. This is the one permission that a stage adds.
   split,
};

/// The first breach of the contract, for messages; empty if there is none.
std::string find_breach(nir_shader *, CmatStage);

/// Ends the process with the breach and the shader, in builds with assertions. A breach is a fault
/// of a pass: no shader of a program may cause one.
void validate_cmat_form(nir_shader *, CmatStage);

} // namespace weft
