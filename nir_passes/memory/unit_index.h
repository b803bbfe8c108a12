// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft {

/// A byte offset, which is a multiple of 2^log2_unit, as the number of units.  Looks through sums,
/// products and shifts, so that `(4 * i + 8) / 4` becomes `i + 2`: what follows still sees which
/// accesses are neighbours.  An offset that wraps around 32 bits points elsewhere afterwards, but
/// outside of any buffer in either case.
nir_def *unit_index(nir_builder *, nir_def *offset, unsigned log2_unit);

} // namespace weft
