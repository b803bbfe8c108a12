// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// A private array that holds nothing but a copy of another (opt_array_copies.h), which does not
/// change before the last read of the copy, is read there, and the copy goes:
///
///    copy_deref t[*], a[*]
///    x = load_deref t[i]       ─►    x = load_deref a[i]
///
/// Assumes one function.
bool opt_copied_arrays(nir_shader *);

} // namespace weft
