// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Makes loops of the copies that opt_array_copies() finds: those of more than max_unrolled_copy
/// elements.  The loops count in variables.
///
/// Assumes one function, and that to which is copied not to be volatile.
bool lower_array_copies(nir_shader *);

} // namespace weft
