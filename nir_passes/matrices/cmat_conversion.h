// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The conversion of components by a cmat_unary_op or a cmat_transpose_weft.

#pragma once

#include "nir_passes/matrices/small_floats.h"

namespace weft {

/// Converts one component between the types of the instruction's matrices.
inline nir_def *convert_component(nir_builder *b, const nir_intrinsic_instr *instr, nir_def *value,
                                  glsl_base_type from, glsl_base_type to)
{
   if (instr->intrinsic == nir_intrinsic_cmat_transpose_weft && from == to)
      return value;
   const nir_op op = nir_op(nir_intrinsic_alu_op(instr));
   if (weft_is_small_float(from) || weft_is_small_float(to))
      return weft_convert_small_float(b, value, op, from, to, nir_intrinsic_saturate(instr) != 0);
   return nir_build_alu1(b, op, value);
}

} // namespace weft
