// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Derefs as lists of steps.

#pragma once

#include "compiler/nir/nir.h"
#include "compiler/nir/nir_deref.h"

#include <algorithm>
#include <vector>

namespace weft {

/// The derefs from a variable, or from the cast that a pointer begins with, to the deref.
using Path = std::vector<nir_deref_instr *>;

inline Path path_of(nir_deref_instr *deref)
{
   Path path;
   for (; deref; deref = nir_deref_instr_parent(deref)) {
      path.push_back(deref);
      if (deref->deref_type == nir_deref_type_cast)
         break;
   }
   std::ranges::reverse(path);
   return path;
}

inline bool is_index(const nir_deref_instr *deref, uint64_t index)
{
   return deref->deref_type == nir_deref_type_array && nir_src_is_const(deref->arr.index) &&
          nir_src_as_uint(deref->arr.index) == index;
}

inline bool is_same_step(const nir_deref_instr *x, const nir_deref_instr *y)
{
   if (x == y)
      return true;
   if (x->deref_type != y->deref_type)
      return false;
   switch (x->deref_type) {
   case nir_deref_type_var:
      return x->var == y->var;
   case nir_deref_type_struct:
      return x->strct.index == y->strct.index;
   case nir_deref_type_array:
      return x->arr.index.ssa == y->arr.index.ssa ||
             (nir_src_is_const(x->arr.index) && is_index(y, nir_src_as_uint(x->arr.index)));
   default:
      return false;
   }
}

} // namespace weft
