// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft {

/// Turns the copies that opt_array_copies() finds, of more than max_unrolled_copy elements, into
/// loops. Loop counters are variables.
///
/// Assumes one function, and that the copies' destinations are not volatile.
bool lower_array_copies(nir_shader *);

} // namespace weft
