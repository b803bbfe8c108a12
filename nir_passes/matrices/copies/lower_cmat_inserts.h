// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Lets each replacement of components (cmat_insert, cmat_insert_run_weft) write to the matrix that
/// it reads, as all forms of matrices have it: behind a copy, where result and source are two.
///
///    cmat_insert r, value, m, i   ─►   cmat_copy   r, m
///                                      cmat_insert r, value, r, i
///
/// After opt_cmat_copies(), which removes most copies; it does not undo this.
bool lower_cmat_inserts(nir_shader *);

/// Whether the result is the matrix that components are replaced in.
bool is_in_place(const nir_intrinsic_instr *insert);

} // namespace weft
