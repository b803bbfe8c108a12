// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Classifies the intrinsics on matrices (cmat_*) and tiles (tile_*_weft).

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Whether the intrinsic operates on each component by itself.
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

/// Whether the intrinsic converts components between matrices of different use.
inline bool converts_use(const nir_intrinsic_instr *instr)
{
   if (instr->intrinsic != nir_intrinsic_cmat_unary_op)
      return false;
   const auto use = [&](unsigned source) {
      return glsl_get_cmat_description(nir_src_as_deref(instr->src[source])->type)->use;
   };
   return use(0) != use(1);
}

/// Whether it is a whole access that later becomes accesses to single elements, or to lines. Its
/// CMAT_DESC is the program's matrix, also if it accesses a part of it.
inline bool is_whole_access(nir_intrinsic_op op)
{
   switch (op) {
   case nir_intrinsic_cmat_load_tensor_weft:
   case nir_intrinsic_cmat_store_tensor_weft:
   case nir_intrinsic_cmat_load_blocked_weft:
   case nir_intrinsic_cmat_store_blocked_weft:
      return true;
   default:
      return false;
   }
}

/// Whether its lowering must know which invocation holds which element.
inline bool needs_element_places(nir_intrinsic_op op)
{
   switch (op) {
   case nir_intrinsic_cmat_coordinates_weft:
   case nir_intrinsic_cmat_element_weft:
   case nir_intrinsic_cmat_convert_weft:
   case nir_intrinsic_cmat_transpose_weft:
   case nir_intrinsic_cmat_reduce_weft:
   case nir_intrinsic_cmat_per_element_weft:
   case nir_intrinsic_cmat_runs_weft:
   case nir_intrinsic_cmat_run_coordinates_weft:
   case nir_intrinsic_cmat_insert_run_weft:
      return true;
   default:
      return false;
   }
}

/// Whether it moves a tile from or to memory.
inline bool is_tile_access(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
   return op == nir_intrinsic_tile_load_weft || op == nir_intrinsic_tile_store_weft ||
          op == nir_intrinsic_tile_pack_weft;
}

/// Whether it reads or writes a variable that is a tile. This includes component operations on a
/// driver's tiles, which stay matrices.
inline bool uses_tile(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_intrinsic)
      return false;
   const nir_intrinsic_op op = nir_instr_as_intrinsic(instr)->intrinsic;
   return is_tile_access(instr) || op == nir_intrinsic_tile_muladd_weft ||
          op == nir_intrinsic_tile_element_weft || op == nir_intrinsic_tile_insert_weft ||
          is_cmat_component_operation(op);
}

inline bool uses_tile(nir_block *block)
{
   nir_foreach_instr(instr, block) {
      if (uses_tile(instr))
         return true;
   }
   return false;
}

} // namespace weft
