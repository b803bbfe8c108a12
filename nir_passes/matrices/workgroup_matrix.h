// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// A matrix, or the tiles of one, of which the workgroup has one in shared memory though its variable is function_temp,
/// like all variables that are tiles: lower_cmat_scope() lets each subgroup fill a part of it between barriers.  Nothing
/// but cmat_insert_columns_weft, cmat_load_columns_weft and what becomes of these writes it, and multiplications before the
/// next barrier read it: two such matrices may lie in the same memory.
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
