// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What passes ask of tile operations.

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Also what is done with the components of matrices, where the driver has them.
inline bool is_tile_operation(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   switch (nir_instr_as_intrinsic(instr)->intrinsic) {
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
   case nir_intrinsic_tile_muladd_weft:
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

inline bool has_tile_operation(nir_block *block)
{
   nir_foreach_instr(instr, block) {
      if (is_tile_operation(instr))
         return true;
   }
   return false;
}

} // namespace weft
