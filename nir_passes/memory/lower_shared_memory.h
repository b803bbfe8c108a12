// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// For a back end with typed memory: every shared variable becomes an array of scalars, as wide as
/// the narrowest access to it. They are floats if it has atomic operations on floats, else unsigned
/// integers. Every access becomes an access of scalars.
///
/// No two variables alias. Blocks with an explicit layout, which all share one address, become one
/// array. Variables that one pointer may point to (pointer_groups.h) also become one array, one
/// after the other. Pointers that are values become byte offsets.
///
/// Returns an Error if atomic operations and other accesses to an array differ too much.
Result<bool> lower_shared_memory(nir_shader *);

} // namespace weft
