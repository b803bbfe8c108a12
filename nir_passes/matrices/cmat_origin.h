// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Origins: whole operations on a part of the program's matrix have the row and column of the
/// part's first element, as a vector. The origin of a matrix that no pass has cut is the constant
/// 0.

#pragma once

#include "nir_passes/matrices/cmat_coordinates.h"

#include "compiler/nir/nir_builder.h"

namespace weft::cmat {

inline bool is_zero(nir_def *origin)
{
   for (unsigned i = 0; i < origin->num_components; ++i) {
      const nir_scalar scalar = nir_scalar_resolved(origin, i);
      if (!nir_scalar_is_const(scalar) || nir_scalar_as_uint(scalar) != 0)
         return false;
   }
   return true;
}

/// The coordinates in the program's matrix of an element that has these ones in the part.
inline Coordinates in_whole(nir_builder *b, nir_def *origin, nir_def *coordinates)
{
   nir_def *row = nir_channel(b, coordinates, 0), *col = nir_channel(b, coordinates, 1);
   if (is_zero(origin))
      return {row, col};
   row = nir_iadd(b, row, nir_channel(b, origin, 0));
   col = nir_iadd(b, col, nir_channel(b, origin, 1));
   return {row, col};
}

} // namespace weft::cmat
