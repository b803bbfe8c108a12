// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Memory accesses by address (buffer device addresses).

#pragma once

#include "backend/spirv/module/values.h"

#include "compiler/nir/nir.h"

#include <map>

namespace weft::spirv {

class Translator;

class GlobalMemory {
public:
   explicit GlobalMemory(Translator &);

   void emit_load(nir_intrinsic_instr *);
   void emit_store(nir_intrinsic_instr *);

   Pointer pointer_to(nir_intrinsic_instr *, Id type);
   /// A pointer to the first element of an array of units, as matrix loads and stores need it.
   Pointer array_pointer(Id address, Id unit_type, unsigned unit_bits);

   bool is_used() const { return used; }

private:
   Translator &t;
   ModuleBuilder &m;
   bool used = false;
   std::map<Id, Id> blocks; ///< blocks with a runtime array, by the type of its elements
};

} // namespace weft::spirv
