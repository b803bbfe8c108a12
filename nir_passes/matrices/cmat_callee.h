// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Functions that intrinsics on matrices call: reductions, per-element operations, loads with
/// decode functions. They stay functions of the shader until a pass replaces the intrinsics by
/// calls.

#pragma once

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <span>
#include <vector>

namespace weft {

/// The functions that the indices CALLEE and RUN_CALLEE name; null if there is none.
nir_function *callee_of(const nir_shader *, const nir_intrinsic_instr *);
nir_function *run_callee_of(const nir_shader *, const nir_intrinsic_instr *);
/// All functions of the shader, in the order that these indices count. Faster than callee_of() for
/// many instructions.
std::vector<nir_function *> functions_of(const nir_shader *);
/// All functions of the list that an intrinsic names.
std::vector<nir_function *> callees_of(std::span<nir_function *const> functions, const nir_instr *);

/// Removes the functions that are no entry point and that no intrinsic calls.  The others get other
/// places in the list, and intrinsics the new numbers.
void remove_unused_functions(nir_shader *);

/// Whether an instruction may change memory that invocations share: a write, a barrier or a call.
bool may_change_memory(const nir_instr *);

/// Whether a function does more than to compute its result.
bool has_effects(const nir_function *);

/// The result, of a scalar or vector type, of a call.
nir_def *call_function(nir_builder *, nir_function *, const glsl_type *result,
                       std::span<nir_def *const> arguments);

/// Calls of a function that combines two components of a type to one.
struct Combination {
   nir_builder *b;
   nir_function *function;
   glsl_base_type type;

   nir_def *operator()(nir_def *x, nir_def *y) const;
   /// Combines the four elements of a square; element(row, column) returns them for 0 and 1.
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
