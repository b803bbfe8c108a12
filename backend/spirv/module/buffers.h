// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Uniform and storage buffers, in units (nir_passes/memory/lower_access_units.h). A binding that
/// is accessed in units of several types becomes several variables, which alias each other.

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

#include <map>
#include <vector>

namespace weft::spirv {

class Translator;

class Buffers {
public:
   explicit Buffers(Translator &);

   void emit_load(nir_intrinsic_instr *);
   void emit_store(nir_intrinsic_instr *);
   void emit_size(nir_intrinsic_instr *);

   /// A pointer to a unit.
   Pointer pointer_to(nir_intrinsic_instr *instr, const nir_src &index, Id unit_type, Id unit,
                      unsigned unit_bytes)
   {
      return pointer_to(instr, index, unit_type, unit_bytes, {unit}, unit_type);
   }

   /// Decorates aliased and restrict variables. Call it after all variables exist.
   void decorate();

   struct Binding {
      nir_variable *var; ///< the shader's first variable with this binding
      uint32_t set, binding;
      bool uniform;    ///< false: storage buffer
      bool is_array;   ///< array of descriptors
      uint32_t length; ///< length of that array, 0: runtime
      uint32_t bytes;  ///< size of a uniform buffer
      uint32_t stride; ///< a power of two that divides the buffer length which the shader sees
      unsigned access; ///< gl_access_qualifier common to all variables

      struct View {
         Id variable, block_type;
      };
      std::map<Id, View> views; ///< by unit type: one variable for each type that the shader
                                ///< accesses
   };

private:
   Binding *find(const nir_src &index);
   const Binding::View &view_of(Binding &, Id unit_type, unsigned unit_bytes);
   Pointer pointer_to(nir_intrinsic_instr *, const nir_src &index, Id unit_type,
                      unsigned unit_bytes, const Words &place, Id accessed_type);
   bool add_descriptor(const Binding &, nir_intrinsic_instr *, const nir_src &index,
                       Words &operands);

   Translator &t;
   ModuleBuilder &m;
   std::vector<Binding> bindings;
};

} // namespace weft::spirv
