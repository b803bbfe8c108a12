// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

#include <unordered_map>
#include <vector>

namespace weft {

/// Finds which variables a pointer may point to, for memory whose pointers are values (SPIR-V's
/// variable pointers): selects, phis and private memory may hold them. Variables form a group if
/// one pointer may point to them, or if their pointers are compared. The analysis ignores control
/// flow.
class PointerGroups {
public:
   /// Analyses the shader's entry point.
   PointerGroups(nir_shader *, nir_variable_mode);

   /// The variables that a deref of this mode may point to; none if it is always null.
   const std::vector<nir_variable *> &variables_of(const nir_deref_instr *);

   /// Whether a use of a pointer takes it as a value: neither to access memory nor as part of
   /// another deref.
   static bool is_value(const nir_src *);

private:
   void add_uses(nir_def *);
   void add_sources(nir_def *);
   const void *find(const void *);
   void unite(const void *, const void *);

   std::unordered_map<const void *, const void *> parents; ///< of variables and values
   std::unordered_map<const void *, std::vector<nir_variable *>> groups; ///< by the group's root
   std::vector<nir_def *> forwards, backwards;                           ///< work lists
   std::unordered_map<const nir_def *, unsigned> followed;
   const char memory = 0; ///< its address stands for all pointers in memory
};

} // namespace weft
