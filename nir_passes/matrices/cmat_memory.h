// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Parts of a matrix in memory, for passes that cut matrices: a pointer to the first element of a
/// part, and the stride from there on, as cmat_load and cmat_store take them.

#pragma once

#include "nir_passes/matrices/cmat_bounds.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <optional>

namespace weft::cmat {

class Memory {
public:
   /// That of an access to the matrix, whose stride counts what the pointer points to.  With robust
   /// access a part's place in its storage buffer does not wrap around 32 bits.
   Memory(nir_builder *, nir_deref_instr *pointer, nir_def *stride,
          const glsl_cmat_description &matrix, bool robust_access);

   /// The element at a place in one of the matrix's lines (rows or columns), where a part begins.
   nir_deref_instr *element(nir_def *line, nir_def *place) const;
   /// Counts what element() points to.
   nir_def *stride() const { return unit_stride; }
   /// Counts components.
   nir_def *component_stride() const { return scale(unit_stride, unit, component); }

private:
   /// For robust access.
   struct Robust {
      Bounds bounds;
      /// A number of bytes at which nothing of the buffer is left, aligned for any part.
      nir_def *outside;
   };

   void find_bounds(nir_deref_instr *pointer, nir_def *stride, const nir_deref_instr *units);
   nir_def *scale(nir_def *value, uint32_t factor, uint32_t divisor) const;

   nir_builder *b;
   nir_deref_instr *base;    ///< to units (cmat_unit_pointer()); with robust access the buffer's
   uint32_t unit, component; ///< bytes
   nir_def *unit_stride;
   std::optional<Robust> robust;
};

} // namespace weft::cmat
