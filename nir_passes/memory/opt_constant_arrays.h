// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Finds private arrays, or structs with arrays, to which all stores write the same constants. They
/// are written once, at the beginning of the function, and reads with a constant index become
/// constants:
///
///    const uint table[1024] = { … };        uint table[1024] = { … };
///    for (…) {                         ─►   for (…) {
///       uint copy[1024] = table;               x += table[y];
///       x += copy[y];                          …
///       …
///
/// A read before any write would have an undefined value, so the order of reads and writes does not
/// matter. Producers that inline functions repeat the stores at each call, in several blocks.
/// nir_opt_large_constants, which makes tables in constant memory, requires all stores in one
/// block.
///
/// Assumes one function.
bool opt_constant_arrays(nir_shader *);

} // namespace weft
