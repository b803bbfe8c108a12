// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "nir_passes/result.h"

#include "compiler/nir/nir.h"

namespace weft {

/// For a back end whose memory is typed: every variable of shared memory becomes an array of
/// unsigned scalars (floats, where there are atomic operations on floats), as wide as the narrowest
/// access to it, and every access one of scalars.  No two variables alias: blocks with an explicit
/// layout, which all lie in the same place, become one array, and so do variables that one pointer
/// may point to (pointer_groups.h), one after the other.  Pointers that are values become offsets
/// in bytes.
///
/// An Error where atomic operations and other accesses to the same array differ too much.
Result<bool> lower_shared_memory(nir_shader *);

} // namespace weft
