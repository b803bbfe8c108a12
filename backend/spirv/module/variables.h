// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Variables whose NIR type has a counterpart in SPIR-V: private arrays and matrices, shared
/// memory, and the registers that replace phis.

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

#include <unordered_map>
#include <vector>

namespace weft::spirv {

class Translator;

class Variables {
public:
   explicit Variables(Translator &);

   void emit_load(nir_intrinsic_instr *);
   void emit_store(nir_intrinsic_instr *);
   void emit_declare_register(nir_intrinsic_instr *);
   void emit_load_register(nir_intrinsic_instr *);
   void emit_store_register(nir_intrinsic_instr *);

   /// A pointer to shared or private memory.
   Pointer pointer_to(nir_deref_instr *);

private:
   Id variable(nir_variable *);

   Translator &t;
   ModuleBuilder &m;
   std::unordered_map<const nir_variable *, Id> variables;
   std::unordered_map<const nir_def *, std::vector<Scalar>> registers; ///< variables, by component
};

} // namespace weft::spirv
