// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// A private array, or struct with arrays, that holds the same constants wherever it is written is
/// written once, at the top of the function, and where an index is constant, the constant is read:
///
///    const uint table[1024] = { … };        uint table[1024] = { … };
///    for (…) {                         ─►   for (…) {
///       uint copy[1024] = table;               x += table[y];
///       x += copy[y];                          …
///       …
///
/// A read before any write would have an undefined value, so the order of reads and writes does not
/// count.  Inliners before this compiler repeat the stores at each call, in several blocks, and
/// nir_opt_large_constants, which makes tables in constant memory, wants all stores in one block.
///
/// Assumes one function.
bool opt_constant_arrays(nir_shader *);

} // namespace weft
