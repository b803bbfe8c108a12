// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Addresses parts of a matrix in memory, for passes that cut matrices: a pointer to a part's first
/// element, and a stride, in the form that cmat_load and cmat_store use.

#pragma once

#include "nir_passes/matrices/cmat_bounds.h"

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <optional>

namespace weft::cmat {

class Memory {
public:
   /// `pointer` and `stride` come from an access to the matrix; the stride counts the pointer's
   /// target type. With robust access, the offset of a part in its storage buffer does not wrap
   /// around 32 bits.
   Memory(nir_builder *, nir_deref_instr *pointer, nir_def *stride,
          const glsl_cmat_description &matrix, bool robust_access);

   /// A pointer to an element by line (row or column) and place in the line; a part begins there.
   nir_deref_instr *element(nir_def *line, nir_def *place) const;
   /// The stride in units of element()'s type.
   nir_def *stride() const { return unit_stride; }
   /// The stride in components.
   nir_def *component_stride() const { return scale(unit_stride, unit, component); }

private:
   /// Set with robust access.
   struct Robust {
      Bounds bounds;
      /// A byte offset behind the buffer's end, aligned for any part.
      nir_def *outside;
   };

   void find_bounds(nir_deref_instr *pointer, nir_def *stride, const nir_deref_instr *units);
   nir_def *scale(nir_def *value, uint32_t factor, uint32_t divisor) const;

   nir_builder *b;
   nir_deref_instr *base;    ///< to units (cmat_unit_pointer()); with robust access the buffer's
                             ///< pointer
   uint32_t unit, component; ///< bytes
   nir_def *unit_stride;
   std::optional<Robust> robust;
};

} // namespace weft::cmat
