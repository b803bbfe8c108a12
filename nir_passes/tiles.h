// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What passes ask of tile operations.

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// What is done with a matrix's components, each by itself.
inline bool is_cmat_component_operation(nir_intrinsic_op op)
{
   switch (op) {
   case nir_intrinsic_cmat_construct:
   case nir_intrinsic_cmat_unary_op:
   case nir_intrinsic_cmat_binary_op:
   case nir_intrinsic_cmat_scalar_op:
   case nir_intrinsic_cmat_bitcast:
   case nir_intrinsic_cmat_extract:
   case nir_intrinsic_cmat_insert:
   case nir_intrinsic_cmat_copy:
      return true;
   default:
      return false;
   }
}

/// Also operations on the components of matrices, where the driver has them.
inline bool is_tile_operation(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
   return op == nir_intrinsic_tile_load_weft || op == nir_intrinsic_tile_store_weft ||
          op == nir_intrinsic_tile_muladd_weft || is_cmat_component_operation(op);
}

inline bool has_tile_operation(nir_block *block)
{
   nir_foreach_instr(instr, block) {
      if (is_tile_operation(instr))
         return true;
   }
   return false;
}

} // namespace weft
