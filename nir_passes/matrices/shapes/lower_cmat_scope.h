// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

struct ScopeOptions {
   uint32_t subgroup_size;
   bool robust_access = false;
   /// The most shared memory that may be added for what subgroups want of each other.
   uint32_t staging_bytes = 0;
   /// B is shared too.
   bool cuts_b = false;
   /// Of a B that is cut, the whole is a matrix of the workgroup's (cmat_marks.h).
   bool has_workgroup_matrices = false;
   /// Nothing is cut.
   bool keeps_whole = false;
};

/// Matrices of workgroup scope become matrices of subgroup scope, which share the work.  The rows
/// of A and of accumulators are cut into bands, one for each subgroup, or fewer, as a band has at
/// least 8 rows; then several subgroups have the same one.  B is whole in each subgroup, or with cuts_b
/// also in bands, of at least 16 columns, which multiplications put together.  For 4 subgroups:
///
///           A         B          accumulator
///        ┌──────┐  ┌──────┐      ┌──────┐
///        │  0   │  │ all  │      │  0   │     So a multiplication, loads, stores, what is done
///        ├──────┤  │      │      ├──────┤     component by component, and reductions of rows
///        │  1   │  │      │      │  1   │     need nothing of other subgroups.  Of what several
///        ├──────┤  └──────┘      ├──────┤     have, all have the same, and one stores it.
///        │  2   │                │  2   │
///        ├──────┤                ├──────┤
///        │  3   │                │  3   │
///        └──────┘                └──────┘
///
/// Other reductions reduce each band and share what these give.
/// What wants elements of other bands (transposes, accumulators that become B,
/// multiplications by a B in bands) writes the matrix to shared memory first, between two barriers; where the back end has
/// matrices there, multiplications read it there, and what was loaded for one of them only is loaded there.
/// Where there is not enough of it, B is whole; then, and where a shader sets components of a whole B
/// by itself, or knows lengths of matrices as constants (keeps_whole), every subgroup has all of
/// every matrix and does everything.
///
/// An Error where subgroups of that size do not fill the workgroup.
Result<bool> lower_cmat_scope(nir_shader *, const ScopeOptions &);

} // namespace weft
