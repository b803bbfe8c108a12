// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Marks a matrix, or the tiles of one, that lies once per workgroup in shared memory. Its variable
/// is function_temp nevertheless, like all variables that are tiles. lower_cmat_scope() makes each
/// subgroup fill a part of it, between barriers.
///
/// Only cmat_insert_columns_weft, cmat_load_columns_weft and their lowered forms write it.
/// Multiplications before the next barrier read it, so two such matrices may share memory.
inline void make_workgroup_matrix(nir_variable *variable)
{
   variable->data.access = gl_access_qualifier(variable->data.access | ACCESS_COHERENT);
}
inline bool is_workgroup_matrix(const nir_variable *variable)
{
   return variable->data.mode == nir_var_function_temp &&
          (variable->data.access & ACCESS_COHERENT) != 0;
}

} // namespace weft
