// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir_builder.h"

namespace weft {

/// Converts a byte offset, which is a multiple of 2^log2_unit, to a number of units. Divides within
/// sums, products and shifts, so that `(4 * i + 8) / 4` becomes `i + 2` and later passes still
/// recognize neighbours. An offset that wraps around 32 bits changes, but is outside of any buffer
/// either way.
nir_def *unit_index(nir_builder *, nir_def *offset, unsigned log2_unit);

} // namespace weft
