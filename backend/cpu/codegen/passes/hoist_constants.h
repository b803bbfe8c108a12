// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include "compiler/nir/nir.h"

namespace weft::cpu {

/// Moves constants, and vectors of constants such as buffer indices, to the beginning. A constant
/// that is defined in a loop and used behind it would go through a phi and be unknown there.
bool hoist_constants(nir_shader *);

} // namespace weft::cpu
