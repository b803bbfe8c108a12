// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Replaces cooperative matrix types, for passes that lower the operations on them.

#pragma once

#include "compiler/glsl_types.h"
#include "compiler/nir/nir_builder.h"

#include <functional>
#include <unordered_map>

namespace weft {

/// An operand of a cmat intrinsic: a deref with the new type, and its former description.
struct Matrix {
   nir_deref_instr *deref;
   glsl_cmat_description desc;
};

/// Builds the same deref of a variable, or of an element of it, at the cursor.
nir_deref_instr *rebuild_deref(nir_builder *, nir_deref_instr *);

class CmatTypes {
public:
   using Lower = std::function<const glsl_type *(const glsl_cmat_description &)>;

   /// Replaces the types of variables and derefs of matrices, and of arrays and structs with
   /// matrices, by `lower`'s result.
   CmatTypes(nir_shader *, Lower lower);

   /// Whether the shader has any matrix.
   bool found() const { return any; }
   Matrix operand(const nir_intrinsic_instr *, unsigned source) const;

private:
   void replace_type(nir_variable *);
   void replace_type(nir_deref_instr *);
   const glsl_type *replacement(const glsl_type *);
   const glsl_type *struct_replacement(const glsl_type *);

   const Lower lower;
   bool any = false;
   /// The former type of each deref of a whole matrix.
   std::unordered_map<const nir_deref_instr *, glsl_cmat_description> descriptions;
};

} // namespace weft
