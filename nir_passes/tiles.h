// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What passes ask of tile operations.

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

inline bool is_tile_operation(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   switch (nir_instr_as_intrinsic(instr)->intrinsic) {
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
   case nir_intrinsic_tile_muladd_weft:
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
