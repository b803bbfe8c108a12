// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Makes each replacement of components (cmat_insert, cmat_insert_run_weft) write the matrix that
/// it reads, as later passes require. If result and source differ, a copy comes first:
///
///    cmat_insert r, value, m, i   ─►   cmat_copy   r, m
///                                      cmat_insert r, value, r, i
///
/// Runs after opt_cmat_copies(), which removes most copies and keeps these.
bool lower_cmat_inserts(nir_shader *);

/// Whether a replacement writes the matrix that it reads.
bool is_in_place(const nir_intrinsic_instr *insert);

} // namespace weft
