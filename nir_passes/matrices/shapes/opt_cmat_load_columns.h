// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Loads columns directly into the workgroup's matrix (cmat_marks.h), if they were loaded for that
/// only:
///
///    cmat_load b, memory, stride
///    …                                         …
///    barrier                            ─►     barrier
///    cmat_insert_columns all, b, 16            cmat_load_columns all, memory, stride, 16
///    barrier                                   barrier
///
/// Between the load and the barrier, no instruction may change memory. The load may move behind
/// the barrier: before the next one, subgroups only write their columns (lower_cmat_scope.h).
bool opt_cmat_load_columns(nir_shader *);

} // namespace weft
