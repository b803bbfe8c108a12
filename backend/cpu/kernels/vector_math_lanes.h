// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cmath>

namespace weft::cpu {

// Each file that includes this has instructions of its own: none may get another's copy.
namespace {

template <typename Vector, auto function>
Vector lane_by_lane(Vector x)
{
   Vector y;
   for (unsigned lane = 0; lane < sizeof(x) / sizeof(x[0]); lane++)
      y[lane] = function(x[lane]);
   return y;
}

/// Of a function of one number, that of vectors of so many bytes.
template <unsigned bytes, typename Number, Number (*function)(Number)>
void *lanes_of()
{
   using Vector [[gnu::vector_size(bytes)]] = Number;
   return reinterpret_cast<void *>(&lane_by_lane<Vector, function>);
}

} // namespace
} // namespace weft::cpu
