// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Functions that intrinsics on matrices call (cmat_reduce_weft).  They stay functions of the
/// shader until a pass has made calls of the intrinsics, which are inlined then.

#pragma once

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <span>

namespace weft {

/// The function that the index CALLEE names; null for an intrinsic without one.
nir_function *callee_of(const nir_shader *, const nir_intrinsic_instr *);

/// Removes the functions that are no entry point and that no intrinsic calls.  The others get other
/// places in the list, and intrinsics the new numbers.
void remove_unused_functions(nir_shader *);

/// The result, of a scalar or vector type, of a call.
nir_def *call_function(nir_builder *, nir_function *, const glsl_type *result,
                       std::span<nir_def *const> arguments);

/// Calls of a function that combines two components of a type to one.
struct Combination {
   nir_builder *b;
   nir_function *function;
   glsl_base_type type;

   nir_def *operator()(nir_def *x, nir_def *y) const;
   /// Of the four elements of a square, which element(row, column) gives for 0 and 1.
   template <typename Element>
   nir_def *square(const Element &element) const
   {
      nir_def *rows[2];
      for (unsigned i = 0; i < 2; ++i) {
         nir_def *left = element(i, 0u);
         nir_def *right = element(i, 1u);
         rows[i] = (*this)(left, right);
      }
      return (*this)(rows[0], rows[1]);
   }
   unsigned bits() const { return glsl_base_type_get_bit_size(type); }
};

/// 2 · number + add, the place of a square's element.
inline nir_def *twice_and(nir_builder *b, nir_def *number, unsigned add)
{
   return nir_iadd_imm(b, nir_imul_imm(b, number, 2), add);
}

} // namespace weft
