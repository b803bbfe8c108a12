// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Removes a private array that only holds a copy of another array (opt_array_copies.h), if the
/// original does not change before the last read of the copy. Reads go to the original:
///
///    copy_deref t[*], a[*]
///    x = load_deref t[i]       ─►    x = load_deref a[i]
///
/// Assumes one function.
bool opt_copied_arrays(nir_shader *);

} // namespace weft
