// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrix_support.h"

#include <algorithm>

namespace weft {

bool FlexibleOperation::covers(const MatrixOperation &op) const
{
   MatrixOperation same_types = op;
   same_types.m = granularity.m;
   same_types.n = granularity.n;
   same_types.k = granularity.k;
   const auto fits = [&](uint32_t size, uint32_t unit) {
      return size > 0 && size % unit == 0 && size <= max_dimension;
   };
   return same_types == granularity && fits(op.m, granularity.m) && fits(op.n, granularity.n) &&
          fits(op.k, granularity.k);
}

bool MatrixSupport::covers(const MatrixOperation &op) const
{
   return std::ranges::find(operations, op) != operations.end() ||
          std::ranges::any_of(flexible, [&](const FlexibleOperation &f) { return f.covers(op); });
}

} // namespace weft
